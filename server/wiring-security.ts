/** Wiring of what stands at the door: certificates, authenticators, authorizers. */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemClock } from "../storage/base/clock.js";
import type { Lifecycle } from "../storage/base/lifecycle.js";
import type { Logger } from "../storage/base/logger.js";
import { AnonymousAuthenticator } from "./authn/anonymous.js";
import { type Authenticator, UnionAuthenticator } from "./authn/authenticator.js";
import { ClientCertificateAuthenticator } from "./authn/client-certificate.js";
import { UnknownBearerAuthenticator } from "./authn/unknown-bearer.js";
import { type Authorizer, UnionAuthorizer } from "./authz/authorizer.js";
import { PrivilegedGroupsAuthorizer } from "./authz/privileged-groups.js";
import { PublicPathsAuthorizer } from "./authz/public-paths.js";
import type { Config } from "./config/config.js";
import {
  ensureServingCertificates,
  type OwnCertificates,
  serviceHosts,
} from "./http/certificates.js";
import { runFileWatch } from "./http/file-watch.js";
import { writeAdminKubeconfig } from "./http/kubeconfig.js";
import type { Listener, ServingCredentials } from "./http/listener.js";
import type { Metrics } from "./http/metrics.js";
import { MASTERS_GROUP } from "./request/user-info.js";

/** Certificates of our own are renewed a month before their end; a day's delay does no harm. */
const RENEWAL_CHECK_MS = 24 * 3_600_000;

export interface Security {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly credentials: ServingCredentials;
  /** Writes admin.kubeconfig for the port that was opened; gives its path. */
  writeKubeconfig(url: string): Promise<string>;
  /** Follows the files that the flags name. */
  spawnReload(listener: Listener, lifecycle: Lifecycle, metrics: Metrics, logger: Logger): void;
}

/** Makes or reads certificates, and the two unions. @throws {Error} files that cannot be read */
export async function createSecurity(config: Config): Promise<Security> {
  const { naming } = config;
  const adminName = `${naming.vendor}-admin`;
  const ensureOwn = () =>
    ensureServingCertificates(config.dataDir, {
      hosts: hostsOf(config),
      adminName,
      adminGroup: MASTERS_GROUP,
    });
  let own = await ensureOwn();
  const files = filesOf(config);
  const contents = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const credentialIdKey = `authentication.${naming.labelDomain}/credential-id`;
  const certificates = new ClientCertificateAuthenticator({ credentialIdKey });
  const initial = toCredentials(config, own, contents);
  certificates.replaceAuthorities(initial.clientAuthorities ?? "");

  return {
    authenticator: new UnionAuthenticator(
      [certificates, new UnknownBearerAuthenticator()],
      config.anonymousAuth ? new AnonymousAuthenticator() : undefined,
    ),
    authorizer: new UnionAuthorizer([
      new PrivilegedGroupsAuthorizer([MASTERS_GROUP]),
      new PublicPathsAuthorizer(),
    ]),
    credentials: initial,
    async writeKubeconfig(url) {
      const path = join(config.dataDir, "admin.kubeconfig");
      await writeAdminKubeconfig(path, {
        server: url,
        authority: servingAuthority(config, own, contents),
        user: own.admin,
        userName: adminName,
        clusterName: "keelson",
      });
      return path;
    },
    spawnReload(listener, lifecycle, metrics, logger) {
      const use = (changed: readonly string[]) => {
        const next = toCredentials(config, own, changed);
        listener.replaceCredentials(next);
        certificates.replaceAuthorities(next.clientAuthorities ?? "");
      };
      lifecycle.spawn("certificate renewal", async (signal) => {
        for (;;) {
          await systemClock.sleep(RENEWAL_CHECK_MS, signal);
          own = await ensureOwn();
          use(await Promise.all(files.map((file) => readFile(file, "utf8"))));
        }
      });
      if (files.length === 0) return;
      const reloads = metrics.counter({
        name: "apiserver_certificate_reloads_total",
        help: "Changed certificate files, by whether they could be used.",
        labelNames: ["result"],
      });
      lifecycle.spawn("certificate reload", (signal) =>
        runFileWatch(
          {
            files,
            clock: systemClock,
            logger,
            onReload: (isGood) => reloads.add(1, isGood ? "success" : "failure"),
            apply: use,
          },
          signal,
        ),
      );
    },
  };
}

/** The files that are reloaded: serving certificate and key, then the client authorities. */
function filesOf({ tlsCertFile, tlsPrivateKeyFile, clientCaFile }: Config): string[] {
  return [tlsCertFile, tlsPrivateKeyFile, clientCaFile].filter((file) => file !== "");
}

function toCredentials(
  config: Config,
  own: OwnCertificates,
  contents: readonly string[],
): ServingCredentials {
  const rest = [...contents];
  const hasOwnServing = config.tlsCertFile === "";
  const cert = hasOwnServing ? own.serving.cert : (rest.shift() ?? "");
  const key = hasOwnServing ? own.serving.key : (rest.shift() ?? "");
  return { cert, key, clientAuthorities: [own.clientAuthority, ...rest].join("\n") };
}

/** What the administrator's client must trust: our own authority, or the given certificate. */
function servingAuthority(config: Config, own: OwnCertificates, contents: readonly string[]) {
  return config.tlsCertFile === "" ? own.servingAuthority : (contents[0] ?? "");
}

function hostsOf({ naming, bindAddress, advertiseAddress }: Config): string[] {
  const addresses = [bindAddress, advertiseAddress].filter(
    (address) => address !== "" && address !== "0.0.0.0" && address !== "::",
  );
  return [
    "localhost",
    "127.0.0.1",
    "::1",
    hostname(),
    ...serviceHosts(naming.vendor),
    ...addresses,
  ];
}
