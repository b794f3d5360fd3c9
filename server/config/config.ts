/**
 * Config: everything that the command line decides, checked and frozen. Made once, before anything
 * is opened; wiring reads it and nobody changes it.
 */
import { accessSync, constants, fstatSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { type IpBlock, parseBlock } from "../api/ip-address.js";
import { createNaming, type Naming } from "../api/naming.js";
import { toServiceAccountSettings } from "../authn/service-account/settings.js";
import { parseControlPlaneDomain } from "../control-planes/control-plane-hosts.js";
import { CONTROLLERS, unknownController } from "../controllers/controller-names.js";
import type { LogLevel } from "../request/verbosity.js";
import { API_RELEASE, type EffectiveReleases, formatRelease } from "../schema/lifecycle.js";
import { isSimulatedPart, SIMULATED_PARTS } from "../simulation/run-simulation.js";
import { effectiveReleases } from "./effective-release.js";
import { type Features, resolveFeatures } from "./feature-gates.js";
import type { Command, FlagDefinition } from "./flag-definition.js";
import type { FlagValues } from "./flag-values.js";
import { FLAGS, type FlagKey } from "./flags.js";
import { parseHostPort } from "./host-port.js";
import { GENERAL_KEYS } from "./runtime-config.js";

/** One value per flag, typed by the table. */
export type FlagSettings = { readonly [K in FlagKey]: FlagValues[(typeof FLAGS)[K]["type"]] };

/** The ranges from which Services get addresses and ports that they leave open. */
export interface ServiceRanges {
  readonly clusterIpRanges: readonly IpBlock[];
  readonly nodePortRange: { readonly first: number; readonly last: number };
}

export interface Config extends Omit<FlagSettings, "logLevel"> {
  readonly command: Command;
  /** Flags that were written on the command line: some say something by being there. */
  readonly given: ReadonlySet<FlagKey>;
  readonly naming: Naming;
  readonly releases: EffectiveReleases;
  readonly features: Features;
  readonly serviceRanges: ServiceRanges;
  /** Whether the state is in the embedded store. */
  readonly isEmbedded: boolean;
  /** Whether its data goes with the process, so that writes need not wait for the disk. No flag says so: a fresh API of tests does. */
  readonly isTemporary?: boolean;
  /** Whether it ends behind a few questions of its own process: it has no certificates, remembers no owners of fields, and makes none of its own objects but those that they may need. No flag says so: `keelson validate` does. */
  readonly isBrief?: boolean;
  readonly logLevel: LogLevel;
  /** Warnings for the operator, one line each; main logs them. */
  readonly warnings: readonly string[];
}

const PORT_MAX = 65_535;

/** Each round is a write of its own, and no watch could resume. */
const COMPACTION_INTERVAL_MS_MIN = 1_000;

const UNSPECIFIED_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Checks what single flags can not. @throws {RangeError} with one line */
export function createConfig(
  command: Command,
  settings: FlagSettings,
  given: ReadonlySet<FlagKey>,
): Config {
  checkStorage(command, settings);
  checkServing(settings);
  checkRuntimeConfig(settings);
  checkAuthorization(settings, given);
  checkFiles(settings);
  checkLogging(settings);
  checkControllers(settings);
  checkReadyFd(settings);
  checkTesting(settings);
  checkControlPlanes(settings);
  const naming = createNaming(settings.vendor);
  toServiceAccountSettings(settings, naming);
  const releases = effectiveReleases(settings);
  checkHiddenMetrics(settings);
  const { features, warnings } = resolveFeatures(settings.featureGates, releases.emulated);
  if (settings.storageMediaType === "application/cbor" && !features.CBORServingAndStorage) {
    throw new RangeError(
      "--storage-media-type=application/cbor needs --feature-gates=CBORServingAndStorage=true",
    );
  }
  const isEmbedded = settings.etcdServers.length === 0;
  const unused = [...given].find((key) => /^requestheader(?!ClientCaFile)/.test(key));
  if (unused !== undefined && settings.requestheaderClientCaFile === "") {
    warnings.push(`--${FLAGS[unused].name} does nothing without --requestheader-client-ca-file`);
  }
  return Object.freeze({
    ...settings,
    command,
    given,
    naming,
    releases,
    features,
    isEmbedded,
    serviceRanges: serviceRangesOf(settings),
    warnings: Object.freeze(warnings),
    bindAddress: settings.bindAddress || (isEmbedded ? "127.0.0.1" : "0.0.0.0"),
    etcdPrefix: `/${settings.etcdPrefix.replace(/^\/+|\/+$/g, "")}`,
    logLevel: settings.logLevel as LogLevel,
  });
}

/** Not to be told when it is ready would be noticed late. */
function checkReadyFd({ readyFd }: FlagSettings): void {
  if (readyFd < 0) return;
  try {
    fstatSync(readyFd);
  } catch {
    throw new RangeError(`--ready-fd: ${readyFd} is not an open file descriptor`);
  }
}

/** A domain without control planes would only be in the certificate. */
function checkControlPlanes({ controlPlaneDomain, enableControlPlanes }: FlagSettings): void {
  if (controlPlaneDomain === "") return;
  const flag = `--${FLAGS.controlPlaneDomain.name}`;
  if (!enableControlPlanes) {
    throw new RangeError(`${flag} needs --${FLAGS.enableControlPlanes.name}`);
  }
  try {
    parseControlPlaneDomain(controlPlaneDomain);
  } catch (error) {
    throw new RangeError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}

/** What tests do to a server is not for one that others share. */
function checkTesting(settings: FlagSettings): void {
  for (const key of ["enableTestApi", "enableFaultInjection"] as const) {
    if (settings[key] && settings.etcdServers.length > 0) {
      throw new RangeError(`--${FLAGS[key].name} needs the embedded store, not --etcd-servers`);
    }
  }
  checkSimulation(settings);
}

function checkSimulation({
  simulate,
  simulationFile,
  etcdServers,
  runControllers,
}: FlagSettings): void {
  const unknown = simulate.find((part) => !isSimulatedPart(part));
  if (unknown !== undefined) {
    const known = SIMULATED_PARTS.join(", ");
    throw new RangeError(`--simulate: ${JSON.stringify(unknown)} is unknown; known are ${known}`);
  }
  if (simulate.length === 0) {
    if (simulationFile !== "") throw new RangeError("--simulation-file needs --simulate");
    return;
  }
  if (etcdServers.length > 0) {
    throw new RangeError("--simulate needs the embedded store, not --etcd-servers");
  }
  // There is no leader among several simulations.
  if (!runControllers) throw new RangeError("--simulate needs --run-controllers");
}

function checkStorage(command: Command, settings: FlagSettings): void {
  // It would be the working directory, whatever that is; a variable that is not set does this.
  if (settings.dataDir.trim() === "") throw new RangeError("--data-dir must not be empty");
  const { etcdCompactionIntervalMs: intervalMs } = settings;
  if (intervalMs > 0 && intervalMs < COMPACTION_INTERVAL_MS_MIN) {
    throw new RangeError("--etcd-compaction-interval: less than 1s; 0 turns compaction off");
  }
  for (const server of settings.etcdServers) {
    const url = URL.canParse(server) ? new URL(server) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.host === "") {
      throw new RangeError(`--etcd-servers: ${JSON.stringify(server)} is not http(s)://host:port`);
    }
  }
  requireBoth(settings, "etcdCertFile", "etcdKeyFile");
  requireBoth(settings, "etcdUsername", "etcdPasswordFile");
  if (settings.etcdServers.length > 0) return;
  if (command === "controllers") {
    throw new RangeError(
      '"controllers" needs --etcd-servers; with the embedded store the loops run inside "serve"',
    );
  }
  for (const key of ["etcdCaFile", "etcdCertFile", "etcdUsername"] as const) {
    if (settings[key] !== "") throw new RangeError(`--${FLAGS[key].name} needs --etcd-servers`);
  }
}

function checkServing(settings: FlagSettings): void {
  requireBoth(settings, "tlsCertFile", "tlsPrivateKeyFile");
  if (settings.rootCaFile !== "" && settings.optionalRootCaFile !== "") {
    throw new RangeError("--root-ca-file and --optional-root-ca-file: only one of them");
  }
  requireBoth(settings, "proxyClientCertFile", "proxyClientKeyFile");
  requireBoth(settings, "kubeletClientCertificate", "kubeletClientKey");
  const { advertiseAddress, bindAddress } = settings;
  if (bindAddress !== "" && isIP(bindAddress) === 0) {
    throw new RangeError(`--bind-address: ${JSON.stringify(bindAddress)} is not an IP address`);
  }
  if (advertiseAddress === "") return;
  if (isIP(advertiseAddress) === 0 || UNSPECIFIED_ADDRESSES.has(advertiseAddress)) {
    throw new RangeError(
      `--advertise-address: ${JSON.stringify(advertiseAddress)} is not an address that others can reach`,
    );
  }
}

/** Metrics that are hidden can be shown for one release only; then dashboards must have changed. */
function checkHiddenMetrics({ showHiddenMetricsForVersion }: FlagSettings): void {
  const previous = formatRelease({ ...API_RELEASE, minor: API_RELEASE.minor - 1 });
  if (["", previous].includes(showHiddenMetricsForVersion)) return;
  throw new RangeError(
    `--show-hidden-metrics-for-version must be omitted or have the value '${previous}'. Only the previous minor version is allowed`,
  );
}

/** Only the form; whether a group exists is known to those who know the types. */
function checkRuntimeConfig({ runtimeConfig }: FlagSettings): void {
  for (const key of runtimeConfig.keys()) {
    const parts = key.split("/");
    const isWellFormed =
      parts.length <= 3 && parts.every((part) => /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(part));
    if (
      !isWellFormed ||
      (parts[0] === "api" && !GENERAL_KEYS.includes(key) && !/^api\/v\d/.test(key))
    ) {
      throw new RangeError(
        `--runtime-config: unknown key ${JSON.stringify(key)}; known are ${GENERAL_KEYS.join(", ")}, and versions of groups such as apps/v1`,
      );
    }
  }
}

/** A file says all or nothing (S2-AZ-08). */
function checkAuthorization(
  { authorizationConfig, authorizationWebhookCacheRedis }: FlagSettings,
  given: ReadonlySet<FlagKey>,
): void {
  const other = [...given].find(
    (key) => /^authorization(Modes|Webhook)/.test(key) && !key.includes("WebhookCacheRedis"),
  );
  if (authorizationConfig !== "" && other !== undefined) {
    throw new RangeError(
      `--${FLAGS[other].name} can not be specified when --authorization-config is specified`,
    );
  }
  if (authorizationWebhookCacheRedis !== "") return;
  for (const key of [
    "authorizationWebhookCacheRedisCaFile",
    "authorizationWebhookCacheRedisPasswordFile",
  ] as const) {
    if (given.has(key)) {
      throw new RangeError(`--${FLAGS[key].name} needs --authorization-webhook-cache-redis`);
    }
  }
}

/** An operator who sets it expects more log lines than there would be. */
function checkLogging({ vmodule }: FlagSettings): void {
  if (vmodule === "") return;
  throw new RangeError(
    "--vmodule: verbosity by patterns of Go source files has no meaning here; use --v",
  );
}

function checkControllers({ controllers, metricsBindAddress }: FlagSettings): void {
  parseHostPort("--metrics-bind-address", metricsBindAddress);
  const unknown = unknownController(controllers);
  if (unknown !== undefined) {
    const known = ["*", ...Object.keys(CONTROLLERS)].join(", ");
    throw new RangeError(
      `--controllers: ${JSON.stringify(unknown)} is unknown; known are ${known}, each loop also with "-" before it`,
    );
  }
}

/** As kube-apiserver has it (controlplane/apiserver/options/options.go). */
const SERVICE_ADDRESSES_MIN = 8n;

function serviceRangesOf(settings: FlagSettings): ServiceRanges {
  const clusterIpRanges = settings.serviceClusterIpRange.map((text) => {
    const block = parseBlock(text);
    if (block === undefined) {
      throw new RangeError(`--service-cluster-ip-range: ${JSON.stringify(text)} is not a block`);
    }
    return block;
  });
  const families = new Set(clusterIpRanges.map(({ version }) => version));
  if (clusterIpRanges.length === 0 || families.size < clusterIpRanges.length) {
    throw new RangeError("--service-cluster-ip-range: one block, or one of each IP family");
  }
  if (clusterIpRanges[0] !== undefined && clusterIpRanges[0].size < SERVICE_ADDRESSES_MIN) {
    throw new RangeError(
      `--service-cluster-ip-range: the first block must have at least ${SERVICE_ADDRESSES_MIN} addresses`,
    );
  }
  const [, first = "", last = ""] =
    /^(\d{1,5})-(\d{1,5})$/.exec(settings.serviceNodePortRange) ?? [];
  const nodePortRange = { first: Number(first), last: Number(last) };
  if (first === "" || nodePortRange.first > nodePortRange.last || nodePortRange.last > PORT_MAX) {
    throw new RangeError(
      `--service-node-port-range: ${JSON.stringify(settings.serviceNodePortRange)} is not first-last`,
    );
  }
  return { clusterIpRanges, nodePortRange };
}

function checkFiles(settings: FlagSettings): void {
  for (const [key, flag] of Object.entries(FLAGS) as [FlagKey, FlagDefinition][]) {
    if (flag.type === "file") checkReadable(flag, settings[key] as string);
    if (flag.type !== "files") continue;
    for (const file of settings[key] as readonly string[]) checkReadable(flag, file);
  }
}

function checkReadable(flag: FlagDefinition, file: string): void {
  if (file === "") return;
  try {
    accessSync(file, constants.R_OK);
    if (!statSync(file).isDirectory()) return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RangeError(`--${flag.name}: cannot read ${JSON.stringify(file)} (${code})`);
  }
  throw new RangeError(`--${flag.name}: ${JSON.stringify(file)} is a directory`);
}

function requireBoth(settings: FlagSettings, first: FlagKey, second: FlagKey): void {
  if ((settings[first] === "") !== (settings[second] === "")) {
    throw new RangeError(`--${FLAGS[first].name} and --${FLAGS[second].name} go together`);
  }
}
