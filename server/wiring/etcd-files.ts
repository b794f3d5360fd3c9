/**
 * The files that connections to etcd use: authorities, the client's certificate with its key, and a password. They may
 * be replaced while the replica runs: each new connection and log-in takes what they say then; connections that are
 * open stay. Contents that cannot be used, such as half of a new pair, are left out until they can.
 */
import { createSecureContext } from "node:tls";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { EtcdCredentials } from "../../storage/etcd/etcd3-log-in.js";
import type { EtcdTls } from "../../storage/etcd/tls.js";
import { FollowedFiles, type ReloadObservers } from "../certificates/followed-files.js";
import { warnOfAuthorities } from "../client/authorities.js";
import type { Config } from "../config/config.js";
import { requireCertificates } from "./require-certificates.js";

export type EtcdFileFlags = Pick<
  Config,
  "etcdCaFile" | "etcdCertFile" | "etcdKeyFile" | "etcdUsername" | "etcdPasswordFile"
>;

type TlsPart = "ca" | "cert" | "key";

export interface EtcdFiles {
  /** undefined without TLS files. */
  readonly tls: EtcdTls | undefined;
  /** undefined without a user. */
  readonly credentials: EtcdCredentials | undefined;
  /** Follows the files. */
  spawn(lifecycle: Lifecycle, observers: ReloadObservers): void;
}

/** What is wrong with their contents, opening the store tells. @throws {Error} unreadable files */
export function openEtcdFiles(config: EtcdFileFlags, logger: Logger): EtcdFiles {
  const tls = openTls(config, logger);
  const password = openPassword(config);
  return {
    tls: tls && tlsOf(tls),
    credentials: password && {
      username: config.etcdUsername,
      get password() {
        return password.current;
      },
    },
    spawn(lifecycle, observers) {
      tls?.spawn(lifecycle, observers);
      password?.spawn(lifecycle, observers);
    },
  };
}

type TlsContents = Partial<Record<TlsPart, string>>;

function openTls(config: EtcdFileFlags, logger: Logger): FollowedFiles<TlsContents> | undefined {
  const { etcdCaFile: ca, etcdCertFile: cert, etcdKeyFile: key } = config;
  if (ca === "" && cert === "") return undefined;
  const files = Object.entries({ ca, cert, key }).filter(([, file]) => file !== "");
  return new FollowedFiles<TlsContents>({
    name: "TLS files of etcd",
    files: files.map(([, file]) => file),
    parse: (contents) =>
      Object.fromEntries(files.map(([part], index) => [part, contents[index] ?? ""])),
    check(contents) {
      createSecureContext(contents);
      if (contents.ca === undefined) return;
      const given = { source: "--etcd-cafile", file: ca, bundle: contents.ca } as const;
      requireCertificates(given.source, ca, contents.ca);
      warnOfAuthorities(logger, { ...given, vouchFor: "servers" }, systemClock.now());
    },
  });
}

function tlsOf(files: FollowedFiles<TlsContents>): EtcdTls {
  const tls: EtcdTls = {};
  for (const part of Object.keys(files.current)) {
    Object.defineProperty(tls, part, {
      enumerable: true,
      get: () => files.current[part as TlsPart],
    });
  }
  return tls;
}

function openPassword({
  etcdUsername,
  etcdPasswordFile: file,
}: EtcdFileFlags): FollowedFiles<string> | undefined {
  if (etcdUsername === "") return undefined;
  return new FollowedFiles({
    name: "password for etcd",
    files: [file],
    parse: ([text = ""]) => text.replace(/\r?\n$/, ""),
  });
}
