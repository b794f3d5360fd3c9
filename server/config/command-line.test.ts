/** The command line: what is accepted, what it means, and how the rest is refused. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type CommandLine, parseCommandLine } from "./command-line.js";
import type { Config } from "./config.js";
import { EXPLAIN_HELP } from "./explain-options.js";
import type { FlagDefinition } from "./flag-definition.js";
import { FLAGS } from "./flags.js";
import { renderFlagsDocument, renderHelp } from "./help.js";

function configOf(...args: string[]): Config {
  const result = parseCommandLine(args);
  assert.equal(result.action, "run", "message" in result ? result.message : "");
  return (result as CommandLine & { action: "run" }).config;
}

function refusalOf(...args: string[]): string {
  const result = parseCommandLine(args);
  assert.equal(result.action, "refuse", args.join(" "));
  const { message } = result as CommandLine & { action: "refuse" };
  assert.doesNotMatch(message, /\n/);
  return message;
}

test("S2-LIM-02, S1-LIM-01: without flags it serves the embedded store on this machine only, with kube-apiserver's defaults", () => {
  const config = configOf("serve");
  const {
    naming: _,
    features,
    featureGates: __,
    runtimeConfig: ___,
    serviceRanges,
    ...plain
  } = config;
  assert.deepEqual(plain, {
    command: "serve",
    given: new Set(),
    embeddedQuotaBytes: 2 * 1024 ** 3,
    emulatedVersion: "",
    showHiddenMetricsForVersion: "",
    minCompatibilityVersion: "",
    releases: { emulated: { major: 1, minor: 36 }, minCompatibility: { major: 1, minor: 35 } },
    goawayChance: 0,
    isEmbedded: true,
    warnings: [],
    dataDir: "./.keelson",
    etcdServers: [],
    etcdPrefix: "/registry",
    endpointReconcilerType: "lease",
    etcdCaFile: "",
    etcdCertFile: "",
    etcdKeyFile: "",
    etcdUsername: "",
    etcdPasswordFile: "",
    etcdTransport: "lean",
    etcdCompactionIntervalMs: 300_000,
    eventTtlMs: 3_600_000,
    servingNames: [],
    storageMediaType: "application/json",
    encryptionProviderConfig: "",
    encryptionProviderConfigAutomaticReload: false,
    watchCacheHistoryMs: 75_000,
    watchCacheBytesMax: 67_108_864,
    bindAddress: "127.0.0.1",
    securePort: 6443,
    readyFd: -1,
    manifests: [],
    watchManifests: false,
    enableControlPlanes: false,
    controlPlaneRootAccess: true,
    controlPlaneDomain: "",
    controlPlaneIdleMs: 600_000,
    controlPlanesLoadedMax: 500,
    enableTestApi: false,
    enableFaultInjection: false,
    record: "",
    recordBytes: 64 * 1024 * 1024,
    simulate: [],
    simulationFile: "",
    advertiseAddress: "",
    tlsCertFile: "",
    tlsPrivateKeyFile: "",
    requestTimeoutMs: 60_000,
    minRequestTimeoutSeconds: 1800,
    maxRequestsInflight: 400,
    maxMutatingRequestsInflight: 200,
    enablePriorityAndFairness: true,
    responseCompressionMinBytes: 1400,
    livezGracePeriodMs: 0,
    shutdownDelayMs: 0,
    shutdownSendRetryAfter: false,
    shutdownGracePeriodMs: 60_000,
    shutdownWatchTerminationGracePeriodMs: 0,
    clientCaFile: "",
    anonymousAuth: true,
    tokenAuthFile: "",
    enableBootstrapTokenAuth: false,
    serviceAccountKeyFile: [],
    serviceAccountSigningKeyFile: "",
    serviceAccountIssuer: [],
    serviceAccountJwksUri: "",
    serviceAccountLookup: true,
    serviceAccountMaxTokenExpirationMs: 0,
    serviceAccountExtendTokenExpiration: true,
    backlogThreadShare: 0.5,
    answerMemoryBytesMax: 67_108_864,
    apiAudiences: [],
    requestheaderClientCaFile: "",
    requestheaderAllowedNames: [],
    requestheaderUsernameHeaders: [],
    requestheaderUidHeaders: [],
    requestheaderGroupHeaders: [],
    requestheaderExtraHeadersPrefix: [],
    authenticationConfig: "",
    oidcIssuerUrl: "",
    oidcClientId: "",
    oidcUsernameClaim: "sub",
    oidcUsernamePrefix: "",
    oidcGroupsClaim: "",
    oidcGroupsPrefix: "",
    oidcRequiredClaim: [],
    oidcCaFile: "",
    oidcSigningAlgs: ["RS256"],
    authenticationTokenWebhookConfigFile: "",
    authenticationTokenWebhookVersion: "v1beta1",
    authenticationTokenWebhookCacheTtlMs: 120000,
    authorizationModes: ["Node", "RBAC"],
    authorizationConfig: "",
    authorizationPolicyFile: "",
    authorizationWebhookConfigFile: "",
    authorizationWebhookVersion: "v1beta1",
    authorizationWebhookCacheAuthorizedTtlMs: 300000,
    authorizationWebhookCacheUnauthorizedTtlMs: 30000,
    authorizationWebhookCacheRedis: "",
    authorizationWebhookCacheRedisPasswordFile: "",
    authorizationWebhookCacheRedisCaFile: "",
    admissionControlConfigFile: "",
    enableAdmissionPlugins: [],
    disableAdmissionPlugins: [],
    admissionPolicyExclusions: [],
    defaultNotReadyTolerationSeconds: 300,
    defaultUnreachableTolerationSeconds: 300,
    vendor: "kubernetes",
    serviceClusterIpRange: ["10.0.0.0/24"],
    serviceNodePortRange: "30000-32767",
    runControllers: true,
    controllers: ["*"],
    rootCaFile: "",
    optionalRootCaFile: "",
    metricsBindAddress: "",
    proxyClientCertFile: "",
    proxyClientKeyFile: "",
    enableAggregatorRouting: false,
    kubeletCertificateAuthority: "",
    kubeletClientCertificate: "",
    kubeletClientKey: "",
    kubeletPort: 10250,
    kubeletReadOnlyPort: 10255,
    kubeletPreferredAddressTypes: [
      "Hostname",
      "InternalDNS",
      "InternalIP",
      "ExternalDNS",
      "ExternalIP",
    ],
    kubeletTimeoutMs: 5000,
    auditPolicyFile: "",
    auditLogPath: "",
    auditLogMaxsize: 0,
    auditLogMaxbackup: 0,
    auditLogMaxage: 0,
    auditLogCompress: false,
    auditLogMode: "blocking",
    auditLogBatchBufferSize: 10_000,
    auditLogBatchMaxSize: 400,
    auditLogBatchMaxWaitMs: 0,
    auditLogBatchThrottleEnable: false,
    auditLogBatchThrottleQps: 10,
    auditLogBatchThrottleBurst: 15,
    auditLogFormat: "json",
    auditLogVersion: "",
    auditLogTruncateEnabled: false,
    auditLogTruncateMaxBatchSize: 10_485_760,
    auditWebhookTruncateMaxBatchSize: 10_485_760,
    auditWebhookVersion: "",
    auditLogTruncateMaxEventSize: 102_400,
    auditWebhookConfigFile: "",
    auditWebhookInitialBackoffMs: 10_000,
    auditWebhookMode: "batch",
    auditWebhookBatchBufferSize: 10_000,
    auditWebhookBatchMaxSize: 400,
    auditWebhookBatchMaxWaitMs: 30_000,
    auditWebhookBatchThrottleEnable: true,
    auditWebhookBatchThrottleQps: 10,
    auditWebhookBatchThrottleBurst: 15,
    auditWebhookTruncateEnabled: false,
    auditWebhookTruncateMaxEventSize: 102_400,
    verbosity: 0,
    loggingFormat: "text",
    logLevel: "info",
    vmodule: "",
    tracingConfigFile: "",
    slowRequestThresholdMs: 500,
    profiling: true,
  });
  assert.equal(features.WatchList, true);
  assert.deepEqual(serviceRanges.nodePortRange, { first: 30_000, last: 32_767 });
  assert.equal(serviceRanges.clusterIpRanges.length, 1);
  assert.equal(Object.isFrozen(config), true);
  assert.equal(configOf().command, "serve");
});

test("flags are taken in all forms that Go programs take them", () => {
  const config = configOf(
    "--etcd-servers=http://a:2379,http://b:2379",
    "--etcd-servers",
    "https://c:2379",
    "--secure-port",
    "7443",
    "--request_timeout=5m30s",
    "--anonymous-auth=false",
    "--run-controllers",
    "-v=4",
    "--etcd-prefix",
    "keelson/",
    "--vendor=acme",
    "--watch-cache-bytes=1Gi",
    "--runtime-config=api/beta=false,apps/v1,batch/v1/jobs=false",
    "--runtime-config=v1=true",
  );
  assert.deepEqual(config.etcdServers, ["http://a:2379", "http://b:2379", "https://c:2379"]);
  assert.deepEqual(
    [config.securePort, config.requestTimeoutMs, config.anonymousAuth, config.runControllers],
    [7443, 330_000, false, true],
  );
  assert.deepEqual([config.verbosity, config.etcdPrefix], [4, "/keelson"]);
  assert.deepEqual([config.bindAddress, config.isEmbedded], ["0.0.0.0", false]);
  assert.equal(config.naming.groupDomain, "acme.io");
  assert.equal(config.watchCacheBytesMax, 2 ** 30);
  assert.deepEqual(
    [...config.runtimeConfig],
    [
      ["api/beta", false],
      ["apps/v1", true],
      ["batch/v1/jobs", false],
      ["v1", true],
    ],
  );
  const etcd = "--etcd-servers=http://a:2379";
  assert.equal(configOf("controllers", etcd, "--v", "2").command, "controllers");
});

test("S1-FEAT-01..09, S2-DEP-09: gates have their defaults, can be set, and locked or unknown ones are refused", () => {
  const { features } = configOf("serve");
  assert.deepEqual(features, {
    APIListChunking: true,
    APIResponseCompression: true,
    AllowUnsafeMalformedObjectDeletion: false,
    AuthorizePodWebsocketUpgradeCreatePermission: true,
    CBORServingAndStorage: false,
    CRDObservedGenerationTracking: true,
    ConsistentListFromCache: true,
    ConstrainedImpersonation: true,
    DRAResourceClaimGranularStatusAuthorization: true,
    DeclarativeValidation: true,
    DeclarativeValidationTakeover: false,
    DryRun: true,
    ExtendWebSocketsToKubelet: true,
    ListFromCacheSnapshot: true,
    ManifestBasedAdmissionControlConfig: false,
    PodLogsQuerySplitStreams: false,
    PortForwardWebsockets: true,
    RemainingItemCount: true,
    ServerSideApply: true,
    ServerSideFieldValidation: true,
    StructuredAuthenticationConfigurationEgressSelector: true,
    TranslateStreamCloseWebsocketRequests: true,
    WatchBookmark: true,
    WatchList: true,
  });
  const set = configOf("--feature-gates=CBORServingAndStorage=true,WatchList=false").features;
  assert.deepEqual([set.CBORServingAndStorage, set.WatchList], [true, false]);
  const all = configOf("--feature-gates=AllAlpha=true,CBORServingAndStorage=false").features;
  assert.deepEqual(
    [all.CBORServingAndStorage, all.AllowUnsafeMalformedObjectDeletion],
    [false, true],
  );
  assert.match(
    refusalOf("--feature-gates=Moon=true"),
    /unrecognized feature gate: Moon; known are A.*, AllAlpha, .*WatchList/,
  );
  assert.match(refusalOf("--feature-gates=toString=true"), /unrecognized feature gate/);
  assert.match(
    refusalOf("--show-hidden-metrics-for-version=1.34"),
    /must be omitted or have the value '1\.35'\. Only the previous minor version is allowed$/,
  );
  assert.match(refusalOf("--feature-gates=DryRun=false"), /locked to true$/);
  assert.match(refusalOf("--feature-gates=WatchList"), /missing bool value for WatchList$/);
  // S2-DEP-08
  assert.match(
    configOf("--feature-gates=DryRun=true").warnings[0] ?? "",
    /^Setting GA feature gate DryRun/,
  );
});

test("what is unknown, badly written or impossible is refused in one line", () => {
  for (const [args, expected] of [
    [["--moon"], "unknown flag: --moon"],
    [["-x"], "unknown flag: -x"],
    [
      ["moon"],
      'unknown command "moon", expected serve or controllers or explain-admission or completion or console or fault or history or diff or why or blame or snapshot or status or validate or up',
    ],
    [["serve", "extra"], 'unexpected argument "extra"'],
    [["--secure-port"], "flag needs an argument: --secure-port"],
    [["--secure-port=x"], 'invalid value for --secure-port: "x" is not an integer'],
    [
      ["--secure-port=70000"],
      "invalid value for --secure-port: 70000 is too large (at most 65535)",
    ],
    [
      ["--request-timeout=5"],
      'invalid value for --request-timeout: "5" is not a duration such as 5m30s',
    ],
    [["--request-timeout=-1s"], "invalid value for --request-timeout: -1s is too small"],
    [
      ["--anonymous-auth=maybe"],
      'invalid value for --anonymous-auth: "maybe" is neither true nor false',
    ],
    [
      ["--vmodule=etcd3=5"],
      "--vmodule: verbosity by patterns of Go source files has no meaning here; use --v",
    ],
    [
      ["--logging-format=xml"],
      'invalid value for --logging-format: "xml" is not one of: text, json',
    ],
    [
      ["--audit-log-format=yaml"],
      'invalid value for --audit-log-format: "yaml" is not one of: json, legacy',
    ],
    [
      ["--storage-media-type=application/vnd.kubernetes.protobuf"],
      'invalid value for --storage-media-type: "application/vnd.kubernetes.protobuf" is not one of: application/json, application/cbor',
    ],
    [
      ["--storage-media-type=application/cbor"],
      "--storage-media-type=application/cbor needs --feature-gates=CBORServingAndStorage=true",
    ],
    [
      ["--etcd-servers=localhost:2379"],
      '--etcd-servers: "localhost:2379" is not http(s)://host:port',
    ],
    [
      ["--etcd-username=u", "--etcd-servers=http://a:1"],
      "--etcd-username and --etcd-password-file go together",
    ],
    [["--tls-cert-file=/nothing"], "--tls-cert-file and --tls-private-key-file go together"],
    [
      ["--client-ca-file=/nothing/at/all"],
      '--client-ca-file: cannot read "/nothing/at/all" (ENOENT)',
    ],
    [["--client-ca-file=/"], '--client-ca-file: "/" is a directory'],
    [
      ["--etcd-compaction-interval=1ns"],
      "--etcd-compaction-interval: less than 1s; 0 turns compaction off",
    ],
    [["--data-dir="], "--data-dir must not be empty"],
    [["--bind-address=here"], '--bind-address: "here" is not an IP address'],
    [
      ["--advertise-address=0.0.0.0"],
      '--advertise-address: "0.0.0.0" is not an address that others can reach',
    ],
    [
      ["--runtime-config=api/moon=true"],
      '--runtime-config: unknown key "api/moon"; known are api/all, api/ga, api/beta, api/alpha, and versions of groups such as apps/v1',
    ],
    [
      ["--service-cluster-ip-range=10.0.0.0/33"],
      '--service-cluster-ip-range: "10.0.0.0/33" is not a block',
    ],
    [
      ["--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24"],
      "--service-cluster-ip-range: one block, or one of each IP family",
    ],
    [
      ["--service-cluster-ip-range=10.0.0.0/30"],
      "--service-cluster-ip-range: the first block must have at least 8 addresses",
    ],
    [
      ["--service-node-port-range=40000-30000"],
      '--service-node-port-range: "40000-30000" is not first-last',
    ],
    [["--vendor=Not A Label"], 'vendor "Not A Label" is not a DNS label'],
    [
      ["controllers", "--secure-port=1"],
      '--secure-port is not a flag of "controllers", only of "serve"',
    ],
    [
      ["controllers"],
      '"controllers" needs --etcd-servers; with the embedded store the loops run inside "serve"',
    ],
  ] as const) {
    assert.equal(refusalOf(...args), `keelson: ${expected}`);
  }
  // The loops that there are, whichever they are.
  assert.match(
    refusalOf("--controllers=*,-nonsense"),
    /--controllers: "-nonsense" is unknown; known are \*, namespace, /,
  );
  assert.equal(
    refusalOf(`--etcd-cafile=${fileURLToPath(import.meta.url)}`),
    "keelson: --etcd-cafile needs --etcd-servers",
  );
});

test("help and version are answered wherever they are asked for, and help names every flag", () => {
  for (const args of [["--version"], ["serve", "--version"], ["version"]]) {
    assert.deepEqual(parseCommandLine(args), { action: "version" });
  }
  for (const args of [["--help"], ["-h"], ["help"]]) {
    assert.deepEqual(parseCommandLine(args), { action: "help", text: renderHelp() });
  }
  assert.deepEqual(parseCommandLine(["controllers", "--help"]), {
    action: "help",
    text: renderHelp("controllers"),
  });
  for (const { name } of Object.values(FLAGS)) assert.ok(renderHelp().includes(`--${name} `), name);
  assert.ok(!renderHelp("controllers").includes("--secure-port"));
});

test("docs/run/flags.md says what the tables say", () => {
  // Sources and emitted files are equally deep below the repository or its output folder.
  const candidates = ["../../docs/run/flags.md", "../../../docs/run/flags.md"];
  const texts = candidates.flatMap((path) => {
    try {
      return [readFileSync(new URL(path, import.meta.url), "utf8")];
    } catch {
      return [];
    }
  });
  assert.deepEqual(texts, [renderFlagsDocument()]);
});

test("every flag's default is a value that the flag itself accepts", () => {
  for (const { name, type, default: text } of Object.values(FLAGS) as FlagDefinition[]) {
    if (type === "file" || text === "") continue;
    assert.equal(parseCommandLine(["serve", `--${name}=${text}`]).action, "run", name);
  }
});

test("S2-PROXY-04: headers of a proxy without its authority are worth a warning", () => {
  const [warning, ...others] = configOf("--requestheader-username-headers=X-Remote-User").warnings;
  assert.match(String(warning), /^--requestheader-username-headers does nothing without/);
  assert.deepEqual(others, []);
});

test("explain-admission has flags of its own", () => {
  const optionsOf = (...args: string[]) => {
    const parsed = parseCommandLine(["explain-admission", ...args]);
    return parsed.action === "explain" ? parsed.options : parsed;
  };
  const plain = {
    file: "a.yaml",
    kubeconfig: undefined,
    context: undefined,
    server: undefined,
    namespace: undefined,
    operation: undefined,
    as: { user: undefined, uid: undefined, groups: [] },
    output: "table",
  };
  assert.deepEqual(optionsOf("-f", "a.yaml"), plain);
  assert.deepEqual(
    optionsOf(
      ...[
        "--filename=-",
        "--as=jane",
        "--as-group",
        "a",
        "--as-group=b,c",
        "--as-uid=7",
        "-o=json",
      ],
      ...["-n", "team", "--operation", "delete", "--server=https://a:1", "--context=c"],
      "--kubeconfig=/k",
    ),
    {
      file: "-",
      kubeconfig: "/k",
      context: "c",
      server: "https://a:1",
      namespace: "team",
      operation: "DELETE",
      as: { user: "jane", uid: "7", groups: ["a", "b,c"] },
      output: "json",
    },
  );
  assert.deepEqual(optionsOf("--help"), { action: "help", text: EXPLAIN_HELP });
  const table: [string[], string][] = [
    [[], "--filename must be given"],
    [["-f"], "flag needs an argument: -f"],
    [["-f", "a", "b"], 'unexpected argument "b"'],
    [["-f", "a", "--secure-port=1"], "unknown flag: --secure-port"],
    [["-f", "a", "-x", "1"], "unknown flag: -x"],
    [["-f", "a", "--as-group=a"], "--as-group and --as-uid need --as"],
    [
      ["-f", "a", "-o", "yaml"],
      'invalid value for --output: must be one of table, json, not "yaml"',
    ],
    [
      ["-f", "a", "--operation=CONNECT"],
      'invalid value for --operation: must be one of CREATE, UPDATE, DELETE, not "CONNECT"',
    ],
  ];
  for (const [args, message] of table) {
    const refused = { action: "refuse", message: `keelson: ${message}`, exitCode: 2 };
    assert.deepEqual(optionsOf(...args), refused);
  }
});

test("#45 an object is named in two words, or in one as kubectl prints it", () => {
  for (const command of ["history", "diff", "why", "blame"]) {
    const named = parseCommandLine([command, "deployments.apps/web", "-n", "shop"]);
    assert.notEqual(named.action, "refuse");
    assert.deepEqual(named, parseCommandLine([command, "deployments.apps", "web", "-n", "shop"]));
    for (const words of [["cm"], ["cm/a", "b", "c"], ["cm/"], ["a/b/c"]]) {
      assert.equal(parseCommandLine([command, ...words]).action, "refuse", words.join(" "));
    }
  }
});
