/** Behaviour of single resources, as their strategies define it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import type { ResourceStrategy, StrategyContext } from "../kinds/strategy.js";
import { createUser } from "../request/user-info.js";
import { qualityOfService } from "./core/pod-qos.js";
import { STRATEGIES } from "./groups.js";

const context: StrategyContext = {
  nowMs: Date.parse("2030-01-02T03:04:05Z"),
  subresource: "",
  naming: createNaming("kubernetes"),
  user: createUser({ name: "ann", uid: "7", groups: ["dev"] }),
};
const onStatus = { ...context, subresource: "status" };

function strategy(name: string): ResourceStrategy {
  const found = STRATEGIES[name];
  assert.ok(found, name);
  return found;
}

function object(parts: Record<string, unknown>): ApiObject {
  return { kind: "K", apiVersion: "v1", metadata: { name: "x" }, ...parts };
}

test("the quality of service of a pod follows from its requests and limits", () => {
  const container = (resources: unknown) => ({ name: "c", resources });
  const pod = (...all: unknown[]) => object({ spec: { containers: all } });
  const full = { cpu: "1", memory: "1Gi" };
  const table: [ApiObject, string][] = [
    [pod(container({})), "BestEffort"],
    [pod(container({ requests: { "example.com/gpu": "1" } })), "BestEffort"],
    [pod(container({ requests: { cpu: "1" } })), "Burstable"],
    [pod(container({ limits: full })), "Guaranteed"],
    [pod(container({ limits: full, requests: { cpu: "1000m", memory: "1024Mi" } })), "Guaranteed"],
    [pod(container({ limits: full, requests: { cpu: "500m" } })), "Burstable"],
    [pod(container({ limits: full }), container({})), "Burstable"],
    [object({ spec: { resources: { limits: full }, containers: [container({})] } }), "Guaranteed"],
  ];
  for (const [value, expected] of table) {
    assert.equal(qualityOfService(value), expected, JSON.stringify(value.spec));
  }
});

test("S1-PATH-15: the selectable fields of pods, events and nodes", () => {
  const pods = strategy("/pods");
  const fields = pods.selectableFields?.(object({ spec: { nodeName: "n1" } }));
  assert.equal(fields?.["spec.nodeName"], "n1");
  assert.equal(fields?.["spec.hostNetwork"], "false");
  assert.equal(fields?.["status.podIP"], "");
  assert.equal(pods.triggerField, "spec.nodeName");
  const events = strategy("/events").selectableFields?.(
    object({ involvedObject: { kind: "Pod", name: "p" }, reportingComponent: "x", type: "Normal" }),
  );
  assert.equal(events?.["involvedObject.name"], "p");
  assert.equal(events?.source, "x");
  const newer = strategy("events/events");
  assert.equal(newer.selectableFieldAliases?.["regarding.name"], "involvedObject.name");
  assert.equal(newer.selectableFieldNames?.includes("involvedObject.name"), false);
  const nodes = strategy("/nodes").selectableFields;
  assert.deepEqual(nodes?.(object({})), { "spec.unschedulable": "false" });
  assert.deepEqual(nodes?.(object({ spec: { unschedulable: true } })), {
    "spec.unschedulable": "true",
  });
});

test("who asks for a certificate is not the client's own word, and signers do not approve", () => {
  const csr = strategy("certificates/certificatesigningrequests");
  const next = object({ spec: { username: "root", groups: ["system:masters"] }, status: { x: 1 } });
  csr.prepareForCreate?.(next, context);
  assert.deepEqual(next.spec, { username: "ann", uid: "7", groups: ["dev"], extra: {} });
  assert.equal(next.status, undefined);

  const approved = { type: "Approved", status: "True" };
  const current = object({ spec: next.spec, status: { conditions: [approved] } });
  const rewritten = { ...approved, message: "other" };
  const failed = { type: "Failed", status: "True" };
  const conditions = [rewritten, failed];
  const update = object({ spec: {}, status: { conditions, certificate: "c" } });
  csr.prepareForUpdate?.(update, current, onStatus);
  const time = "2030-01-02T03:04:05Z";
  const times = { lastUpdateTime: time, lastTransitionTime: time };
  assert.deepEqual(update.status, {
    conditions: [
      { ...approved, ...times },
      { ...failed, ...times },
    ],
    certificate: "c",
  });
  assert.deepEqual(update.spec, next.spec);
});

test("S1-CRUD-08: a status changes no metadata of kinds that came after the older ones", () => {
  const names = [
    "networking/servicecidrs",
    "internal.apiserver/storageversions",
    "scheduling/podgroups",
    "resource/resourcepoolstatusrequests",
  ];
  for (const name of names) {
    const current = object({});
    current.metadata = { name: "x", finalizers: ["a.b/kept"], labels: { a: "b" } };
    const next = object({ status: { is: "new" } });
    next.metadata = { name: "x", annotations: { c: "d" }, ownerReferences: [] };
    strategy(name).prepareForUpdate?.(next, current, onStatus);
    assert.deepEqual(next.metadata, current.metadata, name);
  }
});

test("a job finds its own pods by its uid", () => {
  const job = object({ spec: { template: { metadata: { labels: { a: "b" } } } } });
  job.metadata.uid = "u1";
  strategy("batch/jobs").prepareForCreate?.(job, context);
  assert.deepEqual(job.spec, {
    template: {
      metadata: {
        labels: {
          a: "b",
          "controller-uid": "u1",
          "job-name": "x",
          "batch.kubernetes.io/controller-uid": "u1",
          "batch.kubernetes.io/job-name": "x",
        },
      },
    },
    selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "u1" } },
  });
  const manual = object({ spec: { manualSelector: true, selector: {} } });
  strategy("batch/jobs").prepareForCreate?.(manual, context);
  assert.deepEqual(manual.spec, { manualSelector: true, selector: {} });
});

test("a role binding keeps its role; a deployment its selector", () => {
  const binding = strategy("rbac.authorization/rolebindings");
  const errors = binding.validateUpdate?.(
    object({ roleRef: { name: "admin" } }),
    object({ roleRef: { name: "view" } }),
    context,
  );
  assert.ok(errors?.some(({ message }) => message.endsWith("cannot change roleRef")));
  const selectors = strategy("apps/deployments").validateUpdate?.(
    object({ spec: { selector: { matchLabels: { a: "2" } } } }),
    object({ spec: { selector: { matchLabels: { a: "1" } } } }),
    context,
  );
  assert.ok(selectors?.some(({ field }) => field === "spec.selector"));
});

test("S1-CRUD-08: the status end of some types leaves their metadata alone", () => {
  const next = object({ status: {} });
  next.metadata = { name: "x", labels: { a: "new" }, finalizers: ["a/b"] };
  const current = object({});
  current.metadata = { name: "x", labels: { a: "old" } };
  strategy("flowcontrol.apiserver/flowschemas").prepareForUpdate?.(next, current, onStatus);
  assert.deepEqual(next.metadata, { name: "x", labels: { a: "old" } });
});

test("S1-CRUD-08: a pod's status keeps what was seen, its owners, and whether it is being deleted", () => {
  const after = (status: object, before: object, deletionTimestamp?: string) => {
    const metadata = { name: "x", ...(deletionTimestamp && { deletionTimestamp }) };
    const sent = { deletionTimestamp: "2030-01-01T00:00:00Z", ownerReferences: [] };
    const next = object({ status, metadata: { ...metadata, ...sent } });
    strategy("/pods").prepareForUpdate?.(next, object({ metadata, status: before }), onStatus);
    assert.deepEqual(next.metadata, metadata);
    return next.status;
  };
  const ready = (observedGeneration?: number, type = "Ready") => ({
    type,
    status: "True",
    ...(observedGeneration !== undefined && { observedGeneration }),
  });
  const before = { observedGeneration: 3, conditions: [ready(2), ready(5), ready(7, "Other")] };
  const three = [ready(), ready(), ready()];
  assert.deepEqual(after({ conditions: three }, before), {
    observedGeneration: 3,
    conditions: [ready(2), ready(5), ready()],
  });
  const newer = { observedGeneration: 4, conditions: [ready(3), ready(0, "Other")] };
  assert.deepEqual(after(newer, before, "2029-01-01T00:00:00Z"), {
    observedGeneration: 4,
    conditions: [ready(3), ready(7, "Other")],
  });
  assert.deepEqual(after({}, before), { observedGeneration: 3 });
  assert.deepEqual(after({ conditions: [ready()] }, {}), { conditions: [ready()] });
});

test("names are checked as their type wants", () => {
  const check = (name: string, value: string) =>
    strategy(name).validateName?.(value, false).length === 0;
  assert.equal(check("rbac.authorization/roles", "system:Node"), true);
  assert.equal(check("/services", "1a"), true, "R29: since release 1.36");
  assert.equal(check("/services", "a.b"), false);
  // R46: no more is asked of these than of every name.
  assert.equal(check("policy/poddisruptionbudgets", "A_b"), true);
  assert.equal(check("/events", "A_b"), true);
  assert.equal(check("events/events", "A_b"), false);
  assert.deepEqual(strategy("/replicationcontrollers").validateName?.("a".repeat(254), false), [
    "must be no more than 253 bytes",
  ]);
  assert.equal(check("networking/ipaddresses", "2001:db8::1"), true);
  assert.equal(check("networking/ipaddresses", "web"), false);
});

test("R36, R44: what strategies fill in and drop", () => {
  const claim = (spec: object) => {
    const next = object({ spec });
    strategy("/persistentvolumeclaims").prepareForCreate?.(next, context);
    return next.spec;
  };
  const other = { apiGroup: null, kind: "PersistentVolumeClaim", name: "a" };
  const both = { dataSource: other, dataSourceRef: other };
  assert.deepEqual(claim({ dataSource: other }), both);
  assert.deepEqual(claim({ dataSourceRef: other }), both);
  const foreign = { apiGroup: "a.b", kind: "X", name: "a" };
  assert.deepEqual(claim({ dataSource: foreign }), {});
  assert.deepEqual(claim({ dataSourceRef: foreign }), {
    dataSource: foreign,
    dataSourceRef: foreign,
  });
  assert.deepEqual(claim({ dataSourceRef: { ...other, namespace: "x" } }), {});

  const volume = object({ spec: {} });
  strategy("/persistentvolumes").prepareForCreate?.(volume, context);
  assert.deepEqual(volume.status, {
    phase: "Pending",
    lastPhaseTransitionTime: "2030-01-02T03:04:05Z",
  });

  const set = object({ spec: { template: { a: 1 } } });
  const sets = strategy("apps/daemonsets");
  sets.prepareForCreate?.(set, context);
  const name = "deprecated.daemonset.template.generation";
  assert.equal(set.metadata.annotations?.[name], "1");
  const next = object({ spec: { template: { a: 2 } } });
  sets.prepareForUpdate?.(next, set, context);
  assert.equal(next.metadata.annotations?.[name], "2");

  const node = object({ spec: { configSource: {} }, status: { config: {} } });
  strategy("/nodes").prepareForCreate?.(node, context);
  assert.deepEqual([node.spec, node.status], [{}, {}]);
});
