/** Rules of the apps group: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems, problemsOf, type TestObject } from "../testing/problems.js";

const main = { name: "main", image: "example.test/image:1" };
const template = { metadata: { labels: { app: "web" } }, spec: { containers: [main] } };
const selector = { matchLabels: { app: "web" } };
const workload = (spec: object = {}): TestObject => ({ spec: { selector, template, ...spec } });

type Row = readonly [resource: string, spec: object, ...problems: string[]];

const deployments = "apps/v1/deployments";
const daemonSets = "apps/v1/daemonsets";
const statefulSets = "apps/v1/statefulsets";

const ROWS: readonly Row[] = [
  [deployments, {}],
  [deployments, { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "50%" } } }],
  [deployments, { strategy: { type: "Recreate" }, replicas: 0 }],
  [
    deployments,
    { replicas: -1 },
    "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
  ],
  [
    deployments,
    { selector: { matchLabels: { app: "other" } } },
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ],
  [
    deployments,
    { selector: null },
    "spec.selector: Required value",
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ],
  [
    daemonSets,
    { selector: null },
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ],
  [
    deployments,
    { selector: {} },
    "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
  ],
  [
    deployments,
    { selector: { matchExpressions: [{ key: "app", operator: "In" }] } },
    "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"In"}]}: invalid label selector',
  ],
  [
    deployments,
    { strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } },
    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
  ],
  [
    deployments,
    { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
  ],
  [
    deployments,
    { strategy: { rollingUpdate: { maxUnavailable: "110%" } } },
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "110%": must not be greater than 100%',
  ],
  [
    deployments,
    { strategy: { rollingUpdate: { maxSurge: "some" } } },
    "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"some\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
  ],
  [
    deployments,
    { minReadySeconds: 600 },
    "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
  ],
  [
    deployments,
    { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } },
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ],
  [
    deployments,
    { template: { ...template, spec: { ...template.spec, activeDeadlineSeconds: 5 } } },
    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
  ],
  [
    deployments,
    {
      template: {
        ...template,
        spec: { ...template.spec, ephemeralContainers: [{ ...main, name: "e" }] },
      },
    },
    "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
  ],
  [
    deployments,
    { template: { ...template, spec: { containers: [{ name: "main" }] } } },
    "spec.template.spec.containers[0].image: Required value",
  ],
  [
    deployments,
    { template: { metadata: { labels: { app: "web", "b c": "" } }, spec: template.spec } },
    "spec.template.labels: Invalid value: \"b c\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  ["apps/v1/replicasets", { replicas: 3 }],
  [
    "apps/v1/replicasets",
    { minReadySeconds: -1 },
    "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
  ],
  [daemonSets, { updateStrategy: { type: "OnDelete" } }],
  [daemonSets, { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }],
  [
    daemonSets,
    { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } },
    "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
  ],
  [
    daemonSets,
    { updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } },
    "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
  ],
  [statefulSets, { serviceName: "web", podManagementPolicy: "Parallel" }],
  // Claim templates add volumes, so mounts are not checked against the pod's volumes.
  [
    statefulSets,
    {
      template: {
        metadata: { labels: { app: "web" } },
        spec: {
          restartPolicy: "Always",
          containers: [
            { name: "a", image: "a", volumeMounts: [{ name: "data", mountPath: "/data" }] },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    },
  ],
  // What a claim template says of its state means nothing.
  ...[
    { modifyVolumeStatus: { status: "odd", targetVolumeAttributesClassName: "A B" } },
    { allocatedResourceStatuses: { storage: "odd" } },
    { phase: "odd", accessModes: ["odd"], conditions: [{ type: "", status: "odd" }] },
  ].map((status): Row => {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    return [statefulSets, { volumeClaimTemplates: [{ metadata: { name: "data" }, spec, status }] }];
  }),
  [
    statefulSets,
    { updateStrategy: { rollingUpdate: { partition: -1 } } },
    "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
  ],
  [
    statefulSets,
    { podManagementPolicy: "Random" },
    "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
  ],
  [
    statefulSets,
    { updateStrategy: { type: "Recreate" } },
    'spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
  ],
  [
    deployments,
    { strategy: { type: "Rolling" } },
    'spec.strategy: Unsupported value: {"Type":"Rolling","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
  ],
  [
    daemonSets,
    { updateStrategy: { type: "Rolling" } },
    'spec.updateStrategy: Unsupported value: {"Type":"Rolling","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
  ],
  [
    statefulSets,
    { ordinals: { start: -1 } },
    "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
  ],
];

test("workloads are accepted or refused by their rules, field by field", () => {
  for (const [resource, spec, ...expected] of ROWS) {
    assert.deepEqual(
      problemsOf(resource, workload(spec)),
      expected,
      `${resource} ${JSON.stringify(spec)}`,
    );
  }
});

test("a revision's data is an object", () => {
  const revision = (data: unknown, number = 1) =>
    problemsOf("apps/v1/controllerrevisions", { data, revision: number } as TestObject);
  assert.deepEqual(revision({}), []);
  assert.deepEqual(revision(null), ["data: Required value: data is mandatory"]);
  for (const data of [0, "x", true, [{}]]) {
    assert.deepEqual(revision(data, -1), [
      "revision: Invalid value: -1: must be greater than or equal to 0",
      "data: Required value: data must be a valid JSON object",
    ]);
  }
});

test("a workload keeps its selector", () => {
  const other = {
    selector: { matchLabels: { app: "b" } },
    template: { ...template, metadata: { labels: { app: "b" } } },
  };
  for (const resource of [deployments, daemonSets, "apps/v1/replicasets"]) {
    assert.deepEqual(changeProblems(resource, workload(), workload(other)), [
      'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
    ]);
    assert.deepEqual(changeProblems(resource, workload(), workload({ minReadySeconds: 1 })), []);
  }
});

test("a stateful set keeps its storage and its names", () => {
  const claim = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const before = workload({ serviceName: "a", volumeClaimTemplates: [claim] });
  const with_ = (parts: object) =>
    workload({ serviceName: "a", volumeClaimTemplates: [claim], ...parts });
  const refused =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  assert.deepEqual(changeProblems(statefulSets, before, with_({ replicas: 5 })), []);
  assert.deepEqual(changeProblems(statefulSets, before, with_({ revisionHistoryLimit: 5 })), []);
  assert.deepEqual(changeProblems(statefulSets, before, with_({ serviceName: "b" })), [refused]);
  const larger = { ...claim, spec: { ...claim.spec, resources: { requests: { storage: "2Gi" } } } };
  assert.deepEqual(
    changeProblems(statefulSets, before, with_({ volumeClaimTemplates: [larger] })),
    [refused],
  );
});

test("a status counts what there can be", () => {
  const before = workload();
  const after = { ...before, status: { replicas: 1, readyReplicas: 2, availableReplicas: -1 } };
  assert.deepEqual(changeProblems(deployments, before, after, "status"), [
    "status.availableReplicas: Invalid value: -1: must be greater than or equal to 0",
    "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
  ]);
});

test("R38, R39: sets and their status by the rules of 1.36, in pairs", () => {
  const set = (parts: object, metadata: object = {}) => ({ ...workload(parts), metadata });
  const claims = (name: string, storage: string) => ({
    volumeClaimTemplates: [
      {
        metadata: { name },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
      },
    ],
  });
  const rows: readonly [object, ...string[]][] = [
    [set(claims("v", "1Gi"))],
    [
      set(claims("v", "0")),
      'spec.volumeClaimTemplates[0].spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ],
    [set({ revisionHistoryLimit: -1 })],
    [set({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0 } } })],
    [set({ serviceName: "a-b" })],
    [set({ serviceName: "a.b" }), 'spec.serviceName: Invalid value: "a.b": must not contain dots'],
    [set({}, { name: "a.b" }), 'metadata.name: Invalid value: "a.b": must not contain dots'],
  ];
  for (const [object, ...expected] of rows) {
    assert.deepEqual(problemsOf(statefulSets, object as TestObject), expected);
  }
  const counted = (status: object) => ({ ...workload({}), status });
  const change = (resource: string, before: object, after: object) =>
    changeProblems(resource, counted(before), counted(after), "status");
  for (const resource of ["apps/v1/deployments", "apps/v1/daemonsets", statefulSets]) {
    assert.deepEqual(change(resource, { collisionCount: 2 }, { collisionCount: 2 }), []);
    assert.deepEqual(change(resource, { collisionCount: 2 }, { collisionCount: 1 }), [
      "status.collisionCount: Invalid value: 1: cannot be decremented",
    ]);
  }
  assert.deepEqual(change("apps/v1/deployments", {}, { terminatingReplicas: -1 }), [
    "status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0",
  ]);
});
