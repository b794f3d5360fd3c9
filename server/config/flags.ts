/**
 * The flags of the command line as one table: name, type, default, help, section. Parsing, `--help`,
 * docs/flags.md and the type of Config all come from it. Names and defaults are upstream's where it
 * has the flag.
 */

export type Command = "serve" | "controllers";

export type FlagType =
  | "string"
  | "file"
  | "boolean"
  | "integer"
  /** "5m30s", always with a unit. Values are milliseconds. */
  | "duration"
  /** "64Mi", "1Gi", "1048576". Values are bytes. */
  | "bytes"
  /** Comma-separated, and the flag may be repeated. */
  | "strings"
  /** "key=true,other=false"; a key without value is true; repeatable. */
  | "switches";

export interface FlagDefinition {
  readonly name: string;
  readonly type: FlagType;
  /** As it would be written on the command line. */
  readonly default: string;
  /** Shown instead of the default where it depends on other flags. */
  readonly defaultHelp?: string;
  readonly help: string;
  readonly section: string;
  readonly commands?: readonly Command[];
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  /** One letter, without its dash. */
  readonly shorthand?: string;
}

const SERVE_ONLY = ["serve"] as const;

export const FLAGS = {
  dataDir: {
    name: "data-dir",
    type: "string",
    default: "./.keelson",
    section: "Storage",
    commands: SERVE_ONLY,
    help: "Directory of the embedded store, of generated certificates and of admin.kubeconfig.",
  },
  etcdServers: {
    name: "etcd-servers",
    type: "strings",
    default: "",
    section: "Storage",
    help: "etcd endpoints to connect to (scheme://host:port), comma separated. Without it the embedded store under --data-dir is used.",
  },
  etcdPrefix: {
    name: "etcd-prefix",
    type: "string",
    default: "/registry",
    section: "Storage",
    help: "The prefix of all keys in etcd.",
  },
  etcdCaFile: {
    name: "etcd-cafile",
    type: "file",
    default: "",
    section: "Storage",
    help: "Certificate authorities (PEM) that vouch for etcd.",
  },
  etcdCertFile: {
    name: "etcd-certfile",
    type: "file",
    default: "",
    section: "Storage",
    help: "Client certificate (PEM) shown to etcd; with --etcd-keyfile.",
  },
  etcdKeyFile: {
    name: "etcd-keyfile",
    type: "file",
    default: "",
    section: "Storage",
    help: "Private key (PEM) of --etcd-certfile.",
  },
  etcdUsername: {
    name: "etcd-username",
    type: "string",
    default: "",
    section: "Storage",
    help: "User name at etcd; with --etcd-password-file.",
  },
  etcdPasswordFile: {
    name: "etcd-password-file",
    type: "file",
    default: "",
    section: "Storage",
    help: "File with the password of --etcd-username.",
  },
  etcdCompactionIntervalMs: {
    name: "etcd-compaction-interval",
    type: "duration",
    default: "5m0s",
    min: 0,
    section: "Storage",
    commands: SERVE_ONLY,
    help: "How often old revisions are compacted; what clients may still ask for is at least this old. 0 = never.",
  },
  eventTtlMs: {
    name: "event-ttl",
    type: "duration",
    default: "1h0m0s",
    min: 1000,
    section: "Storage",
    help: "How long events are kept.",
  },
  storageMediaType: {
    name: "storage-media-type",
    type: "string",
    default: "application/json",
    oneOf: ["application/json"],
    section: "Storage",
    help: "The form in which objects are stored.",
  },
  watchCacheHistoryMs: {
    name: "watch-cache-history",
    type: "duration",
    default: "1m15s",
    min: 1000,
    section: "Storage",
    help: "How much of the recent past every replica keeps in memory at least, so that watches resume without listing again.",
  },
  watchCacheBytesMax: {
    name: "watch-cache-bytes",
    type: "bytes",
    default: "64Mi",
    min: 1024 * 1024,
    section: "Storage",
    help: "Memory for recent events of all resources together beyond --watch-cache-history, and again as much for the snapshots of lists in pages.",
  },
  bindAddress: {
    name: "bind-address",
    type: "string",
    default: "",
    defaultHelp: "127.0.0.1 with the embedded store, 0.0.0.0 with etcd",
    section: "Serving",
    commands: SERVE_ONLY,
    help: "The address to listen on. The embedded store is one machine's own, so it is not offered to the network unless asked for.",
  },
  securePort: {
    name: "secure-port",
    type: "integer",
    default: "6443",
    min: 0,
    max: 65_535,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "The port for HTTPS. 0 = any free one. There is no other port.",
  },
  advertiseAddress: {
    name: "advertise-address",
    type: "string",
    default: "",
    defaultHelp: "--bind-address, or the machine's first address",
    section: "Serving",
    commands: SERVE_ONLY,
    help: "The IP address under which others reach this replica.",
  },
  tlsCertFile: {
    name: "tls-cert-file",
    type: "file",
    default: "",
    section: "Serving",
    commands: SERVE_ONLY,
    help: "Serving certificate (PEM), followed by intermediate ones. Reloaded when it changes. Without it a certificate is made under --data-dir.",
  },
  tlsPrivateKeyFile: {
    name: "tls-private-key-file",
    type: "file",
    default: "",
    section: "Serving",
    commands: SERVE_ONLY,
    help: "Private key (PEM) of --tls-cert-file.",
  },
  requestTimeoutMs: {
    name: "request-timeout",
    type: "duration",
    default: "1m0s",
    min: 1,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "After this time a request that is not meant to last is answered with 504.",
  },
  minRequestTimeoutSeconds: {
    name: "min-request-timeout",
    type: "integer",
    default: "1800",
    min: 1,
    max: 86_400,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "Watches without a timeout of their own end after a random time between this many seconds and twice as many.",
  },
  maxRequestsInflight: {
    name: "max-requests-inflight",
    type: "integer",
    default: "400",
    min: 0,
    max: 1_000_000,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "Reading requests at the same time; more get 429. 0 = no limit.",
  },
  maxMutatingRequestsInflight: {
    name: "max-mutating-requests-inflight",
    type: "integer",
    default: "200",
    min: 0,
    max: 1_000_000,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "Changing requests at the same time; more get 429. 0 = no limit.",
  },
  responseCompressionMinBytes: {
    name: "response-compression-min-bytes",
    type: "bytes",
    default: "1400",
    min: 0,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "Smaller answers are not compressed. 0 = all are, for clients that accept it.",
  },
  livezGracePeriodMs: {
    name: "livez-grace-period",
    type: "duration",
    default: "0s",
    min: 0,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "For this long after the start /livez forgives checks that have not finished.",
  },
  shutdownDelayMs: {
    name: "shutdown-delay-duration",
    type: "duration",
    default: "0s",
    min: 0,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "How long the server goes on serving after it was told to end, with /readyz failing, so that load balancers notice.",
  },
  shutdownGracePeriodMs: {
    name: "shutdown-grace-period",
    type: "duration",
    default: "1m0s",
    min: 0,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "How long requests under way may take to finish after that.",
  },
  shutdownWatchTerminationGracePeriodMs: {
    name: "shutdown-watch-termination-grace-period",
    type: "duration",
    default: "0s",
    min: 0,
    section: "Serving",
    commands: SERVE_ONLY,
    help: "Watches are ended spread over this time instead of all at once.",
  },
  clientCaFile: {
    name: "client-ca-file",
    type: "file",
    default: "",
    section: "Authentication",
    commands: SERVE_ONLY,
    help: "Certificate authorities (PEM, one or more) that vouch for client certificates, besides the replica's own. Reloaded when it changes.",
  },
  anonymousAuth: {
    name: "anonymous-auth",
    type: "boolean",
    default: "true",
    section: "Authentication",
    commands: SERVE_ONLY,
    help: "Whether requests without credentials are let in as system:anonymous; otherwise they get 401.",
  },
  vendor: {
    name: "vendor",
    type: "string",
    default: "kubernetes",
    section: "API",
    help: "The maker's short name, which decides group suffixes, media types and well-known names.",
  },
  serviceClusterIpRange: {
    name: "service-cluster-ip-range",
    type: "strings",
    default: "10.0.0.0/24",
    section: "API",
    commands: SERVE_ONLY,
    help: "Blocks from which Services get their addresses: one, or one of each IP family. The same on every replica.",
  },
  serviceNodePortRange: {
    name: "service-node-port-range",
    type: "string",
    default: "30000-32767",
    section: "API",
    commands: SERVE_ONLY,
    help: "Ports from which Services get their node ports, both ends included. The same on every replica.",
  },
  runtimeConfig: {
    name: "runtime-config",
    type: "switches",
    default: "",
    section: "API",
    help: "Turns API versions and resources on or off: <group>/<version>[/<resource>][=<true|false>], v1, api/all, api/ga, api/beta, api/alpha.",
  },
  featureGates: {
    name: "feature-gates",
    type: "switches",
    default: "",
    section: "API",
    help: "Turns features on or off: <name>=<true|false>. The names are listed below.",
  },
  runControllers: {
    name: "run-controllers",
    type: "boolean",
    default: "true",
    section: "Controllers",
    commands: SERVE_ONLY,
    help: "Whether this process also runs the control loops (one of all replicas does, by election).",
  },
  verbosity: {
    name: "v",
    shorthand: "v",
    type: "integer",
    default: "0",
    min: 0,
    max: 10,
    section: "Logging",
    help: "Verbosity by number: 4 and more is debug.",
  },
  logLevel: {
    name: "log-level",
    type: "string",
    default: "",
    defaultHelp: "info, or what --v says",
    oneOf: ["", "debug", "info", "warn", "error"],
    section: "Logging",
    help: "The least important messages that are logged: debug, info, warn or error.",
  },
  logFormat: {
    name: "log-format",
    type: "string",
    default: "text",
    oneOf: ["text", "json"],
    section: "Logging",
    help: "text for people, json for collectors.",
  },
} as const satisfies Record<string, FlagDefinition>;

export type FlagKey = keyof typeof FLAGS;

export const FLAG_SECTIONS: readonly string[] = [
  ...new Set(Object.values(FLAGS).map(({ section }) => section)),
];
