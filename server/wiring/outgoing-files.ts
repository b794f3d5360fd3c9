/**
 * The files of calls to other servers: the certificates that this one shows to node agents and to servers behind
 * APIServices, and the authorities of node agents. All control planes of a process share them.
 */
import { createSecureContext } from "node:tls";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import { FollowedFiles, type ReloadObservers } from "../certificates/followed-files.js";
import type { Config } from "../config/config.js";
import { FLAGS, type FlagKey } from "../config/flags.js";
import { type ClientIdentity, NO_IDENTITY } from "../outbound/tls-connections.js";
import { requireCertificates } from "./require-certificates.js";

export type OutgoingFileFlags = Pick<
  Config,
  | "proxyClientCertFile"
  | "proxyClientKeyFile"
  | "kubeletClientCertificate"
  | "kubeletClientKey"
  | "kubeletCertificateAuthority"
>;

/** Each is asked at each use. */
export interface OutgoingFiles {
  proxyIdentity(): ClientIdentity;
  kubeletIdentity(): ClientIdentity;
  /** PEM; "" = certificates of node agents are not verified. */
  kubeletAuthorities(): string;
  /** Follows the files. */
  spawn(lifecycle: Lifecycle, observers: ReloadObservers): void;
}

/** @throws {Error} with one line: unreadable files, or a key of another certificate */
export function openOutgoingFiles(config: OutgoingFileFlags): OutgoingFiles {
  const proxy = openIdentity(config, "proxyClientCertFile", "proxyClientKeyFile");
  const kubelet = openIdentity(config, "kubeletClientCertificate", "kubeletClientKey");
  const authority = config.kubeletCertificateAuthority;
  const flag = "--kubelet-certificate-authority";
  const authorities =
    authority === ""
      ? undefined
      : new FollowedFiles({
          name: "authorities of node agents",
          files: [authority],
          parse: ([bundle = ""]) => bundle,
          check: (bundle) => requireCertificates(flag, authority, bundle),
        });
  return {
    proxyIdentity: () => proxy?.current ?? NO_IDENTITY,
    kubeletIdentity: () => kubelet?.current ?? NO_IDENTITY,
    kubeletAuthorities: () => authorities?.current ?? "",
    spawn(lifecycle, observers) {
      for (const files of [proxy, kubelet, authorities]) files?.spawn(lifecycle, observers);
    },
  };
}

function openIdentity(
  config: OutgoingFileFlags,
  certificateFlag: FlagKey & keyof OutgoingFileFlags,
  keyFlag: FlagKey & keyof OutgoingFileFlags,
): FollowedFiles<ClientIdentity> | undefined {
  const [certificateFile, keyFile] = [config[certificateFlag], config[keyFlag]];
  if (certificateFile === "") return undefined;
  const flag = `--${FLAGS[certificateFlag].name}`;
  return new FollowedFiles({
    name: flag,
    files: [certificateFile, keyFile],
    parse([certificate = "", key = ""]): ClientIdentity {
      try {
        createSecureContext({ cert: certificate, key });
      } catch (cause) {
        throw new Error(`${flag} ${certificateFile}: ${(cause as Error).message}`, { cause });
      }
      return { certificate, key };
    },
  });
}
