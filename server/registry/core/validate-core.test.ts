/** Rules for the other kinds of the core group: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems, checkProblems, problemsOf, type TestObject } from "../testing/problems.js";

type Row = readonly [resource: string, object: TestObject, ...problems: string[]];

const base64 = (text: string) => Buffer.from(text).toString("base64");
const megabyte = "x".repeat(1024 * 1024);
const configMaps = "v1/configmaps";
const secrets = "v1/secrets";
const KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const CONFIGURATION: readonly Row[] = [
  [configMaps, { data: { "a.b-c_D": "é", ".hidden": "" }, binaryData: { x: "AAA=" } }],
  [configMaps, { data: { a: megabyte } }],
  [configMaps, { data: { "a b": "1" } }, `data[a b]: Invalid value: "a b": ${KEY_RULE}`],
  [configMaps, { data: { "..": "1" } }, `data[..]: Invalid value: "..": must not be '..'`],
  [
    configMaps,
    { data: { a: "1" }, binaryData: { a: "AA==" } },
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ],
  [
    configMaps,
    { data: { a: megabyte, b: "1" } },
    "[]: Too long: may not be more than 1048576 bytes",
  ],
  [
    configMaps,
    { data: { a: "é".repeat(524_289) } },
    "[]: Too long: may not be more than 1048576 bytes",
  ],
  [secrets, { data: { a: base64("b") } }],
  [secrets, { type: "example.com/mine", stringData: { any: "thing" } }],
  [secrets, { type: "kubernetes.io/tls", stringData: { "tls.crt": "", "tls.key": "" } }],
  [
    secrets,
    { type: "kubernetes.io/tls", stringData: { "tls.crt": "a" } },
    "data[tls.key]: Required value",
  ],
  [
    secrets,
    { type: "kubernetes.io/basic-auth" },
    "data[username]: Required value",
    "data[password]: Required value",
  ],
  [secrets, { type: "kubernetes.io/basic-auth", stringData: { password: "p" } }],
  [
    secrets,
    { type: "kubernetes.io/ssh-auth", stringData: { "ssh-privatekey": "" } },
    "data[ssh-privatekey]: Required value",
  ],
  [
    secrets,
    { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{" } },
    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be valid JSON',
  ],
  [secrets, { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{}" } }],
  [
    secrets,
    { type: "kubernetes.io/service-account-token" },
    "metadata.annotations[kubernetes.io/service-account.name]: Required value",
  ],
  [
    secrets,
    { data: { a: base64(`${megabyte}x`) } },
    "data: Too long: may not be more than 1048576 bytes",
  ],
];

const claim = (spec: object = {}): TestObject => ({
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    ...spec,
  },
});
const volume = (spec: object = {}): TestObject => ({
  spec: {
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    hostPath: { path: "/data" },
    ...spec,
  },
});
const claims = "v1/persistentvolumeclaims";
const volumes = "v1/persistentvolumes";

const STORAGE: readonly Row[] = [
  [claims, claim({ storageClassName: "", volumeMode: "Block" })],
  [
    claims,
    claim({
      dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" },
    }),
  ],
  [
    claims,
    claim({ accessModes: null }),
    "spec.accessModes: Required value: at least 1 access mode is required",
  ],
  [claims, claim({ resources: {} }), "spec.resources[storage]: Required value"],
  [
    claims,
    claim({ resources: { requests: { storage: "0" } } }),
    'spec.resources[storage]: Invalid value: "0": must be greater than zero',
  ],
  [
    claims,
    claim({ accessModes: ["ReadWriteOnce", "ReadWriteOncePod"] }),
    "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
  ],
  [
    claims,
    // R31: the older field takes claims and snapshots alone, and is dropped otherwise.
    claim({ dataSource: { kind: "Thing", name: "a" } }),
  ],
  [volumes, volume()],
  [volumes, volume({ hostPath: null }), "spec: Required value: must specify a volume type"],
  [
    volumes,
    volume({ nfs: { server: "s", path: "/x" } }),
    "spec.nfs: Forbidden: may not specify more than 1 volume type",
  ],
  [
    volumes,
    volume({ capacity: undefined }),
    "spec.capacity: Required value",
    'spec.capacity: Unsupported value: null: supported values: "storage"',
  ],
  [
    volumes,
    volume({ capacity: { storage: "-1" } }),
    "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
    'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
  ],
  [
    volumes,
    volume({ hostPath: null, local: { path: "/mnt" } }),
    "spec.nodeAffinity: Required value: Local volume requires node affinity",
  ],
  [
    volumes,
    volume({ hostPath: { path: "/" }, persistentVolumeReclaimPolicy: "Recycle" }),
    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
  ],
];

const quotas = "v1/resourcequotas";
const ranges = "v1/limitranges";
const limit = (item: object): TestObject => ({
  spec: { limits: [{ type: "Container", ...item }] },
});
const nodes = "v1/nodes";
const endpoints = "v1/endpoints";

const CLUSTER: readonly Row[] = [
  [quotas, { spec: { hard: { pods: "10", "requests.cpu": "4", "count/jobs.batch": "5" } } }],
  [
    quotas,
    { spec: { hard: { pods: "1500m" } } },
    'spec.hard[pods]: Invalid value: "1500m": must be an integer',
  ],
  [
    quotas,
    { spec: { hard: { gold: "1" } } },
    'spec.hard[gold]: Invalid value: "gold": must be a standard resource type or fully qualified',
    'spec.hard[gold]: Invalid value: "gold": must be a standard resource for quota',
  ],
  [
    quotas,
    { spec: { scopes: ["BestEffort", "NotBestEffort"] } },
    'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
  ],
  [ranges, limit({ max: { cpu: "2" }, default: { cpu: "1" }, min: { cpu: "100m" } })],
  [
    ranges,
    limit({ max: { cpu: "1" }, min: { cpu: "2" } }),
    // The default is derived from the maximum.
    'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1',
    'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
  ],
  [
    ranges,
    limit({ maxLimitRequestRatio: { cpu: "500m" } }),
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
  ],
  [
    ranges,
    limit({ type: "Pod", default: { cpu: "1" } }),
    "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
  ],
  [
    ranges,
    limit({ type: "Node" }),
    'spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified',
  ],
  [
    nodes,
    {
      spec: {
        podCIDRs: ["10.1.0.0/24", "fd00::/64"],
        taints: [{ key: "a", effect: "NoSchedule" }],
      },
    },
  ],
  [
    nodes,
    { spec: { podCIDRs: ["10.1.0.0/24", "10.2.0.0/24"] } },
    'spec.podCIDRs: Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one CIDR for each IP family',
  ],
  [
    nodes,
    {
      spec: {
        taints: [
          { key: "a", effect: "NoSchedule" },
          { key: "a", effect: "NoSchedule", value: "b" },
        ],
      },
    },
    'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
  ],
  [nodes, { spec: { taints: [{ key: "a" }] } }, "metadata.taints[0].effect: Required value"],
  [
    nodes,
    { spec: { taints: [{ key: "a", effect: "Never" }] } },
    'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
  ],
  [
    quotas,
    { spec: { scopes: ["Some"] } },
    'spec.scopes: Invalid value: ["Some"]: unsupported scope',
  ],
  [
    quotas,
    { spec: { scopeSelector: { matchExpressions: [{}] } } },
    'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "": unsupported scope',
    'spec.scopeSelector.matchExpressions.operator: Invalid value: "": not a valid selector operator',
  ],
  [endpoints, { subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }] }],
  [
    endpoints,
    { subsets: [{ ports: [{ port: 80 }] }] },
    "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
  ],
  [
    endpoints,
    { subsets: [{ addresses: [{ ip: "127.0.0.1" }] }] },
    'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  ["v1/namespaces", { spec: { finalizers: ["example.com/hold", "orphan", "kubernetes"] } }],
  [
    "v1/namespaces",
    { spec: { finalizers: ["mine"] } },
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ],
];

test("objects of the core group that are right are accepted, others refused with what is wrong", () => {
  for (const [resource, object, ...expected] of [...CONFIGURATION, ...STORAGE, ...CLUSTER]) {
    const shown = JSON.stringify(object).slice(0, 200);
    assert.deepEqual(problemsOf(resource, object), expected, `${resource} ${shown}`);
  }
});

test("what is immutable stays so", () => {
  const frozen = { immutable: true, data: { a: "1" } };
  assert.deepEqual(changeProblems(configMaps, frozen, { ...frozen, data: { a: "2" } }), [
    "data: Forbidden: field is immutable when `immutable` is set",
  ]);
  assert.deepEqual(changeProblems(configMaps, frozen, { data: { a: "1" } }), [
    "immutable: Forbidden: field is immutable when `immutable` is set",
  ]);
  assert.deepEqual(changeProblems(secrets, {}, { type: "other" }), [
    'type: Invalid value: "other": field is immutable',
  ]);
  const path = { path: "/other" };
  assert.deepEqual(changeProblems(volumes, volume(), volume({ hostPath: path })), [
    "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
  ]);
  assert.deepEqual(
    changeProblems(volumes, volume(), volume({ persistentVolumeReclaimPolicy: "Delete" })),
    [],
  );
  assert.deepEqual(changeProblems(quotas, { spec: { scopes: ["BestEffort"] } }, { spec: {} }), [
    "spec.scopes: Invalid value: null: field is immutable",
  ]);
  const cidr = { spec: { podCIDRs: ["10.1.0.0/24"], providerID: "p" } };
  assert.deepEqual(changeProblems(nodes, { spec: {} }, cidr), []);
  assert.deepEqual(changeProblems(nodes, cidr, { spec: { providerID: "q" } }), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ]);
});

test("a bound claim may grow, and nothing else", () => {
  const bound = (spec: object = {}) => ({ ...claim(spec), status: { phase: "Bound" } });
  const sized = (storage: string) => ({ resources: { requests: { storage } } });
  assert.deepEqual(changeProblems(claims, bound(), bound(sized("2Gi"))), []);
  assert.deepEqual(changeProblems(claims, claim(), claim({ volumeName: "v" })), []);
  const fixed =
    "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
  assert.deepEqual(changeProblems(claims, claim(), claim(sized("2Gi"))), [fixed]);
  assert.deepEqual(changeProblems(claims, bound(), bound({ accessModes: ["ReadOnlyMany"] })), [
    fixed,
  ]);
  const full = { ...bound(), status: { phase: "Bound", capacity: { storage: "1Gi" } } };
  assert.deepEqual(changeProblems(claims, full, bound(sized("512Mi"))), [
    "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
  ]);
});

test("R3: a scope limits what it says something about", () => {
  const quota = (hard: object, spec: object): TestObject => ({ spec: { hard, ...spec } });
  const scoped = (hard: object, ...scopes: string[]) => quota(hard, { scopes });
  const chosen = (hard: object, scopeName: string) =>
    quota(hard, { scopeSelector: { matchExpressions: [{ scopeName, operator: "Exists" }] } });
  const of = (scope: string) =>
    `spec.scopes: Invalid value: ["${scope}"]: unsupported scope applied to resource`;
  checkProblems("v1/resourcequotas", [
    [scoped({ pods: "1", "limits.cpu": "1" }, "Terminating")],
    [scoped({ services: "1" }, "Terminating"), of("Terminating")],
    [scoped({ pods: "1" }, "BestEffort")],
    [scoped({ "requests.cpu": "1" }, "BestEffort"), of("BestEffort")],
    [scoped({ "example.com/gpu": "1" }, "BestEffort")],
    [chosen({ "requests.storage": "1Gi" }, "VolumeAttributesClass")],
    [
      chosen({ "requests.storage": "1Gi" }, "PriorityClass"),
      'spec.scopeSelector.matchExpressions: Invalid value: {"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]}: unsupported scope applied to resource',
    ],
  ]);
});

test("R8: the ratio of limits and requests is at most that of the bounds", () => {
  const range = (cpu: string): TestObject => ({
    spec: {
      limits: [
        { type: "Container", max: { cpu: "4" }, min: { cpu: "1" }, maxLimitRequestRatio: { cpu } },
      ],
    },
  });
  checkProblems("v1/limitranges", [
    [range("4")],
    [
      range("5"),
      'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "5": ratio 5 is greater than max/min = 4.000000',
    ],
  ]);
});

test("R7: the template of an ephemeral volume's claim has labels and annotations alone", () => {
  const pod = (metadata: object): TestObject => ({
    spec: {
      containers: [{ name: "c", image: "i" }],
      volumes: [
        {
          name: "v",
          ephemeral: {
            volumeClaimTemplate: {
              metadata,
              spec: {
                accessModes: ["ReadWriteOnce"],
                resources: { requests: { storage: "1Gi" } },
              },
            },
          },
        },
      ],
    },
  });
  const at = "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata";
  checkProblems("v1/pods", [
    [pod({ labels: { a: "b" }, annotations: { c: "d" } })],
    [
      pod({ name: "x", namespace: "y", finalizers: ["a.io/b"] }),
      `${at}.name: Forbidden: cannot be set`,
      `${at}.namespace: Forbidden: cannot be set`,
      `${at}.finalizers: Forbidden: cannot be set`,
    ],
  ]);
});

test("R31, R32: statuses of claims, sources of volumes and features of nodes, in pairs", () => {
  const size = { requests: { storage: "1Gi" } };
  const claim = (status: object): TestObject => ({
    spec: { accessModes: ["ReadWriteOnce"], resources: size },
    status,
  });
  const report = (status: object) =>
    changeProblems("v1/persistentvolumeclaims", claim({}), claim(status), "status");
  const at = "status.allocatedResource";
  assert.deepEqual(
    report({
      capacity: { storage: "1Gi" },
      allocatedResources: { storage: "1Gi", "example.com/x": "1" },
      allocatedResourceStatuses: { storage: "NodeResizePending" },
    }),
    [],
  );
  const states =
    '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"';
  assert.deepEqual(
    [
      report({ capacity: { storage: "-1" } }),
      report({ allocatedResources: { storage: "-1" } }),
      report({ allocatedResources: { cpu: "1" } }),
      report({ allocatedResourceStatuses: { storage: "X" } }),
    ],
    [
      ["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"],
      [`${at}s[storage]: Invalid value: -1: must be a valid resource quantity`],
      [`${at}s: Unsupported value: "cpu": supported values: "storage"`],
      [`${at}Statuses: Unsupported value: "storage": supported values: ${states}`],
    ],
  );
  const volume = (source: object): TestObject => ({
    spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, ...source },
  });
  const csi = (secret: object) =>
    volume({ csi: { driver: "d.e", volumeHandle: "h", nodePublishSecretRef: secret } });
  checkProblems("v1/persistentvolumes", [
    [csi({ name: "a", namespace: "b" })],
    [csi({ name: "a" }), "spec.csi.nodePublishSecretRef.namespace: Required value"],
    [volume({ fc: { targetWWNs: ["a"], lun: 255 } })],
    [
      volume({ fc: { targetWWNs: ["a"], lun: 256 } }),
      "spec.fc.lun: Invalid value: 256: must be between 0 and 255, inclusive",
    ],
    [
      volume({ fc: {} }),
      "spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both",
    ],
    [volume({ iscsi: { targetPortal: "a", iqn: "iqn.2001-04.com.example:x", lun: 0 } })],
    [
      volume({ iscsi: { targetPortal: "a", iqn: "x", lun: 0 } }),
      'spec.iscsi.iqn: Invalid value: "x": must be valid format',
    ],
    [
      volume({ hostPath: { path: "/a" }, accessModes: ["X"] }),
      'spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    ],
  ]);
  const node = (...declaredFeatures: string[]): TestObject => ({ status: { declaredFeatures } });
  const feature = "status.declaredFeatures[1]";
  checkProblems("v1/nodes", [
    [node("A", "B/c")],
    [node("B", "A"), `${feature}: Invalid value: "A": list must be sorted alphabetically`],
    [node("A", "A"), `${feature}: Duplicate value: "A"`],
  ]);
});

test("R26, R31: options, mounts and sources that a volume or a claim may not have, in pairs", () => {
  const mounting = "metadata.annotations.volume.beta.kubernetes.io/mount-options";
  const volume = (source: object, annotations: object = {}): TestObject => ({
    metadata: { annotations },
    spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, ...source },
  });
  const flex = (option: string) =>
    volume({ flexVolume: { driver: "a", options: { [option]: "" } } });
  const options = { "volume.beta.kubernetes.io/mount-options": "ro" };
  checkProblems("v1/persistentvolumes", [
    [flex("example.com/a")],
    [flex("akubernetes.io/a")],
    [
      flex("a.K8s.io/b"),
      'spec.flexVolume.options[a.K8s.io/b]: Invalid value: "a.K8s.io/b": kubernetes.io and k8s.io namespaces are reserved',
    ],
    [volume({ nfs: { server: "a", path: "/b" } }, options)],
    [
      volume({ hostPath: { path: "/b" } }, options),
      `${mounting}: Forbidden: may not specify mount options for this volume type`,
    ],
  ]);
  const from = (dataSource: string, dataSourceRef: object): TestObject => ({
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      dataSource: { kind: "PersistentVolumeClaim", name: dataSource },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "a", ...dataSourceRef },
    },
  });
  checkProblems("v1/persistentvolumeclaims", [
    [from("a", {})],
    [from("b", {}), "spec: Invalid value: {}: must match dataSourceRef"],
  ]);
});

test("R45: controllers that a node's first schedulers avoided are named", () => {
  const avoiding = (text: string): TestObject => ({
    metadata: { annotations: { "scheduler.alpha.kubernetes.io/preferAvoidPods": text } },
  });
  const key = "scheduler.alpha.kubernetes.io/preferAvoidPods";
  const signed = (podController: object | undefined) =>
    avoiding(JSON.stringify({ preferAvoidPods: [{ podSignature: { podController } }] }));
  const field = `metadata.annotations.${key}[0].PodSignature`;
  checkProblems("v1/nodes", [
    [avoiding("")],
    [avoiding("{}")],
    [signed({ controller: true })],
    [signed(undefined), `${field}: Required value`],
    [
      signed({ controller: false }),
      `${field}.PodController.Controller: Invalid value: false: must point to a controller`,
    ],
    [
      avoiding("x"),
      `metadata.annotations.AvoidPods: Invalid value: "${key}": invalid character 'x' looking for beginning of value`,
    ],
  ]);
});

test("R46: finalize tells which of the finalizers is wrong", () => {
  const before = { spec: { finalizers: ["kubernetes"] } };
  const after = { spec: { finalizers: ["kubernetes", "mine"] } };
  assert.deepEqual(changeProblems("v1/namespaces", before, after, "finalize"), [
    'spec.finalizers[1]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ]);
});
