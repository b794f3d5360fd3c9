/** Wiring of serving certificates and of trust in client certificates. */
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { createRemainingLifetime } from "../authn/certificate-metrics.js";
import { ClientCertificateAuthenticator } from "../authn/client-certificate.js";
import { FrontProxyAuthenticator } from "../authn/front-proxy.js";
import type { FrontProxyHeaders } from "../authn/identity-headers.js";
import { ensureServingCertificates, type OwnCertificates } from "../certificates/certificates.js";
import { type FileWatchOptions, runFileWatch } from "../certificates/file-watch.js";
import { writeAdminKubeconfig } from "../certificates/kubeconfig.js";
import { warnOfAuthorities } from "../client/authorities.js";
import type { Config } from "../config/config.js";
import { FLAGS } from "../config/flags.js";
import type { AuthenticationTrust } from "../controllers/authentication-trust.js";
import type { Listener, ServingCredentials } from "../http/listener.js";
import type { Metrics } from "../metrics/metrics.js";
import type { PeerAccess } from "../recorder/peers.js";
import { MASTERS_GROUP } from "../request/user-info.js";
import type { ReadAuthorities } from "./authorities.js";
import { certificateFilesOf, spawnCertificateEnds } from "./certificate-ends.js";
import type { ObserveReload } from "./count-reloads.js";
import { ownHosts } from "./own-hosts.js";
import { requireCertificates } from "./require-certificates.js";

/** Generated certificates are renewed a month before they expire, so a daily check suffices. */
const RENEWAL_CHECK_MS = 24 * 3_600_000;
/** How long the store may take to return the shared authorities. */
const RENEWAL_MS = 10_000;

/** Of a server that only its own process asks, without a connection: to make them takes longer than to judge a hundred objects. */
const NO_IDENTITY = { cert: "", key: "" };
const NO_CERTIFICATES: OwnCertificates = {
  serving: NO_IDENTITY,
  servingAuthority: "",
  clientAuthority: "",
  admin: NO_IDENTITY,
};

export interface ReloadParts {
  readonly metrics: Metrics;
  readonly onReload: ObserveReload;
}

export interface Security {
  readonly certificates: ClientCertificateAuthenticator;
  /** Undefined when no flag names a proxy authority. */
  readonly frontProxy: FrontProxyAuthenticator | undefined;
  readonly frontProxyHeaders: FrontProxyHeaders;
  /** Undefined: nobody connects. */
  readonly credentials: ServingCredentials | undefined;
  /** PEM: the authority by which clients verify this server. */
  servingAuthority(): string;
  /** How this replica shows itself to the others, and knows them. */
  readonly peerAccess: PeerAccess;
  /** The trusted authorities, for API servers behind this one. */
  trust(): AuthenticationTrust;
  /** Writes admin.kubeconfig for the opened port; returns its path. */
  writeKubeconfig(url: string): Promise<string>;
  /** Follows the files from the flags. */
  spawnReload(listener: Listener, lifecycle: Lifecycle, parts: ReloadParts): void;
}

export interface SecurityParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly readAuthorities: ReadAuthorities;
}

/** Makes or reads certificates. @throws {Error} unreadable files; {StorageError} */
export async function createSecurity(
  { config, logger, metrics, readAuthorities }: SecurityParts,
  signal: AbortSignal,
): Promise<Security> {
  const { naming } = config;
  const adminName = `${naming.vendor}-admin`;
  const files = filesOf(config);
  let contents = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const ensureOwn = async (until: AbortSignal) => {
    if (config.isBrief === true) return NO_CERTIFICATES;
    const authorities = await readAuthorities(until);
    return await ensureServingCertificates(config.dataDir, {
      hosts: ownHosts(config),
      adminName,
      adminGroup: MASTERS_GROUP,
      ...(authorities !== undefined && { authorities }),
    });
  };
  let own = await ensureOwn(signal);
  const credentialIdKey = `authentication.${naming.labelDomain}/credential-id`;
  const certificates = new ClientCertificateAuthenticator({
    credentialIdKey,
    noteRemaining: createRemainingLifetime(metrics),
  });
  const initial = toCredentials(config, own, contents);
  const warn = (flag: ClientBundleFlag, bundle: string) =>
    warnOfBundle(logger, config, flag, bundle);
  if (config.clientCaFile !== "") warn("clientCaFile", contents.at(-1) ?? "");
  certificates.replaceAuthorities(initial.clientAuthorities ?? "");

  const proxies = await createFrontProxy(config);
  if (proxies !== undefined) warn("requestheaderClientCaFile", proxies.options().authorities);
  // The handshake also names the proxies' authority, or they would not send their certificate.
  const withProxies = (credentials: ServingCredentials): ServingCredentials => ({
    ...credentials,
    clientAuthorities: [credentials.clientAuthorities, proxies?.options().authorities]
      .filter((bundle) => bundle !== undefined)
      .join("\n"),
  });

  return {
    certificates,
    frontProxy: proxies?.authenticator,
    frontProxyHeaders: headersOf(config),
    credentials: config.isBrief === true ? undefined : withProxies(initial),
    servingAuthority: () => servingAuthority(config, own, contents),
    peerAccess: {
      identity: () => own.admin,
      authorities: () => [own.servingAuthority, servingAuthority(config, own, contents)].join("\n"),
      // A certificate that was given has the names of the whole, and no address of a pod.
      serverName: () => (config.tlsCertFile === "" ? undefined : firstHost(contents[0] ?? "")),
    },
    trust: () => ({
      clientAuthorities: toCredentials(config, own, contents).clientAuthorities ?? "",
      frontProxy: proxies?.options(),
    }),
    async writeKubeconfig(url) {
      const path = join(config.dataDir, "admin.kubeconfig");
      const access = {
        server: url,
        authority: servingAuthority(config, own, contents),
        user: own.admin,
        userName: adminName,
      };
      await writeAdminKubeconfig(path, access, logger);
      return path;
    },
    spawnReload(listener, lifecycle, { metrics, onReload }) {
      const use = (changed: readonly string[]) => {
        const next = toCredentials(config, own, changed);
        listener.replaceCredentials(withProxies(next));
        certificates.replaceAuthorities(next.clientAuthorities ?? "");
        contents = [...changed];
      };
      lifecycle.spawn("certificate renewal", "restart", async (signal) => {
        for (;;) {
          await systemClock.sleep(RENEWAL_CHECK_MS, signal);
          try {
            own = await ensureOwn(AbortSignal.any([signal, AbortSignal.timeout(RENEWAL_MS)]));
            use(contents);
          } catch (error) {
            if (signal.aborted) return;
            logger.warn({ err: error }, "certificates are looked at again in a day");
          }
        }
      });
      spawnCertificateEnds(lifecycle, metrics, () => ({
        "serving-authority": { pem: own.servingAuthority },
        "client-authority": { pem: own.clientAuthority },
        ...(config.tlsCertFile === "" && { serving: { pem: own.serving.cert } }),
        ...certificateFilesOf(config),
      }));
      const follow = (what: string, followed: Reloaded) => {
        if (followed.files.length === 0) return;
        const watch = { ...followed, clock: systemClock, logger, onReload };
        lifecycle.spawn(what, "restart", (signal) => runFileWatch(watch, signal));
      };
      const apply = (changed: readonly string[]) => {
        use(changed);
        if (config.clientCaFile !== "") warn("clientCaFile", changed.at(-1) ?? "");
      };
      follow("certificate reload", { files, inForce: contents, apply });
      if (proxies === undefined) return;
      follow("front proxy reload", {
        files: [config.requestheaderClientCaFile],
        inForce: [proxies.options().authorities],
        apply: ([bundle = ""]) => {
          proxies.replace(bundle);
          warn("requestheaderClientCaFile", bundle);
        },
      });
    },
  };
}

type Reloaded = Pick<FileWatchOptions, "files" | "inForce" | "apply">;

type ClientBundleFlag = "clientCaFile" | "requestheaderClientCaFile";

/**
 * Warns of a readable bundle that is unusable for clients, which would otherwise only cause
 * refusals.
 */
function warnOfBundle(
  logger: Logger,
  config: Config,
  flag: ClientBundleFlag,
  bundle: string,
): void {
  const source = `--${FLAGS[flag].name}`;
  const given = { source, file: config[flag], bundle, vouchFor: "clients" } as const;
  warnOfAuthorities(logger, given, systemClock.now());
}

function headersOf(config: Config): FrontProxyHeaders {
  return {
    username: config.requestheaderUsernameHeaders,
    uid: config.requestheaderUidHeaders,
    group: config.requestheaderGroupHeaders,
    extraPrefix: config.requestheaderExtraHeadersPrefix,
  };
}

/** @throws {Error} with one line when the authorities are unreadable */
async function createFrontProxy(config: Config) {
  const file = config.requestheaderClientCaFile;
  if (file === "") return undefined;
  const headers = headersOf(config);
  const allowedNames = config.requestheaderAllowedNames;
  let authorities = await readFile(file, "utf8");
  requireCertificates("--requestheader-client-ca-file", file, authorities);
  const authenticator = new FrontProxyAuthenticator({ headers, allowedNames, authorities });
  return {
    authenticator,
    options: () => ({ headers, allowedNames, authorities }),
    replace(bundle: string) {
      requireCertificates("--requestheader-client-ca-file", file, bundle);
      authenticator.replaceAuthorities(bundle);
      authorities = bundle;
    },
  };
}

/** The reloaded files: serving certificate and key, then the client authorities. */
function filesOf({ tlsCertFile, tlsPrivateKeyFile, clientCaFile }: Config): string[] {
  return [tlsCertFile, tlsPrivateKeyFile, clientCaFile].filter((file) => file !== "");
}

/** @throws {Error} with one line when the client authorities are unreadable */
function toCredentials(
  config: Config,
  own: OwnCertificates,
  contents: readonly string[],
): ServingCredentials {
  const rest = [...contents];
  const hasOwnServing = config.tlsCertFile === "";
  const cert = hasOwnServing ? own.serving.cert : (rest.shift() ?? "");
  const key = hasOwnServing ? own.serving.key : (rest.shift() ?? "");
  for (const bundle of rest) requireCertificates("--client-ca-file", config.clientCaFile, bundle);
  return { cert, key, clientAuthorities: [own.clientAuthority, ...rest].join("\n") };
}

/** The authority for the administrator's client: our own, or the given certificate. */
function servingAuthority(config: Config, own: OwnCertificates, contents: readonly string[]) {
  return config.tlsCertFile === "" ? own.servingAuthority : (contents[0] ?? "");
}

/** The first host that a certificate names, no pattern; names before addresses. */
function firstHost(pem: string): string | undefined {
  const { subjectAltName = "" } = new X509Certificate(pem);
  const hosts = [...subjectAltName.matchAll(/(DNS|IP Address):([^",]+)/g)];
  const [, , host] =
    hosts.find(([, kind, name]) => kind === "DNS" && !name?.startsWith("*")) ??
    hosts.find(([, kind]) => kind !== "DNS") ??
    [];
  return host;
}
