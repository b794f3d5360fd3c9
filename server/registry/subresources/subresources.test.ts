/** Parts of objects and actions on them, against the embedded store. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import { decodeInput } from "../generic/decode-input.js";
import type { WriteOptions } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { updateObject } from "../write/update.js";
import { formatLabelSelector } from "./label-selector.js";
import { ACTIONS } from "./subresources.js";

/** Relative to the emitted file in dist/server/registry/subresources. */
const REQUEST = new URL("../../../../e2e/fixtures/request.csr.pem", import.meta.url);

const harness = await openRegistryHarness();
const { registry } = harness;
const writes = plainWrites(harness);
const { create } = writes;

before(() => create("", "namespaces", { metadata: { name: "default" } }, ""));
after(() => harness[Symbol.asyncDispose]());

function parse(bytes: Buffer) {
  return JSON.parse(bytes.toString());
}

function merge(
  [group, resource, subresource]: readonly [string, string, string],
  name: string,
  patch: JsonObject,
) {
  return writes.merge(group, resource, name, patch, { subresource });
}

async function act(
  [resource, subresource]: readonly [string, string],
  name: string,
  value: JsonObject,
  changes: Partial<WriteOptions> = {},
) {
  const served = harness.action("", "v1", resource, subresource);
  const options = writeOptions(changes);
  const object = decodeInput(served, inputOf(value), options);
  const request = { resource: served, object, namespace: "default", name, options };
  const action = ACTIONS[served.action] ?? assert.fail();
  const { status, bytes } = await action.run(registry, request, noSignal);
  return { status, body: parse(bytes) };
}

async function read(group: string, resource: string, name: string) {
  await registry.freshness.fresh();
  const { partition } = harness.resource(group, "v1", resource);
  const found = registry.view.partition(partition).get(`default/${name}`);
  return found === undefined ? undefined : JSON.parse(found.bytes.toString());
}

const CONTAINERS = [{ name: "c", image: "i" }];
const LABELS = { app: "web" };

function deployment(name: string): JsonObject {
  const template = { metadata: { labels: LABELS }, spec: { containers: CONTAINERS } };
  return { metadata: { name }, spec: { replicas: 2, selector: { matchLabels: LABELS }, template } };
}

function pod(name: string, spec: JsonObject = {}): JsonObject {
  return { metadata: { name, labels: LABELS }, spec: { containers: CONTAINERS, ...spec } };
}

test("S1-GEN-03: a selector is written in the order of its keys", () => {
  assert.equal(formatLabelSelector({}), "");
  const selector = {
    matchLabels: { z: "1", b: "2" },
    matchExpressions: [
      { key: "m", operator: "In", values: ["y", "x"] },
      { key: "a", operator: "DoesNotExist" },
      { key: "n", operator: "NotIn", values: ["x"] },
      { key: "c", operator: "Exists", values: null },
    ],
  };
  assert.equal(formatLabelSelector(selector), "!a,b=2,c,m in (x,y),n notin (x),z=1");
});

test("S1-GEN-03: the scale of a deployment is read and written as a Scale", async () => {
  const made = await create("apps", "deployments", deployment("scaled"));
  const path = ["apps", "deployments", "scale"] as const;
  const scaled = await merge(path, "scaled", { spec: { replicas: 5 } });
  const { uid, creationTimestamp } = made.metadata;
  const stored = await read("apps", "deployments", "scaled");
  assert.deepEqual(scaled, {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name: "scaled",
      namespace: "default",
      uid,
      resourceVersion: stored.metadata.resourceVersion,
      creationTimestamp,
    },
    spec: { replicas: 5 },
    status: { replicas: 0, selector: "app=web" },
  });
  assert.equal(stored.kind, "Deployment");
  assert.equal(stored.spec.replicas, 5);
  assert.equal(stored.metadata.generation, 2);
  assert.deepEqual(stored.spec.template.spec.containers.length, 1);
});

test("S1-CRUD-03: a Scale's uid and resourceVersion are conditions", async () => {
  await create("apps", "deployments", deployment("guarded"));
  const put = (metadata: JsonObject, replicas: number) => {
    const target = {
      resource: harness.part("apps", "v1", "deployments", "scale"),
      namespace: "default",
      name: "guarded",
      subresource: "scale",
      options: writeOptions(),
      input: inputOf({
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: { name: "guarded", ...metadata },
        spec: { replicas },
      }),
    };
    return updateObject(registry, target, noSignal);
  };
  assert.equal((await refusal(put({ resourceVersion: "1" }, 3))).code, 409);
  assert.equal((await refusal(put({ uid: "other" }, 3))).code, 409);
  const negative = await refusal(put({}, -1));
  assert.equal(
    negative.message,
    'Scale.autoscaling "guarded" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
  );
  const { bytes } = await put({}, 0);
  assert.deepEqual(parse(bytes).spec.replicas ?? 0, 0);
  const other = await refusal(
    merge(["apps", "deployments", "scale"], "none", { spec: { replicas: 1 } }),
  );
  assert.equal(other.message, 'deployments.apps "none" not found');
});

test("a replication controller's selector is a map of labels", async () => {
  await create("", "replicationcontrollers", {
    metadata: { name: "rc" },
    spec: {
      replicas: 1,
      selector: { b: "2", a: "1" },
      template: { metadata: { labels: { a: "1", b: "2" } }, spec: { containers: CONTAINERS } },
    },
  });
  const path = ["", "replicationcontrollers", "scale"] as const;
  const scaled = await merge(path, "rc", { spec: { replicas: 3 } });
  assert.equal(scaled.status.selector, "a=1,b=2");
});

test("a pod is bound to a node once, by whichever path", async () => {
  await create("", "pods", pod("bound"));
  const target = { kind: "Node", name: "n1" };
  const body = { metadata: { name: "bound", annotations: { by: "me" } }, target };
  const dry = await act(["pods", "binding"], "bound", body, { isDryRun: true });
  assert.equal(dry.status, 201);
  assert.equal((await read("", "pods", "bound")).spec.nodeName, undefined);
  const { status, body: answer } = await act(["pods", "binding"], "bound", body);
  assert.equal(status, 201);
  assert.equal(answer.status, "Success");
  const stored = await read("", "pods", "bound");
  assert.equal(stored.spec.nodeName, "n1");
  assert.deepEqual(stored.metadata.annotations, { by: "me" });
  // Where it runs is no change of what was asked for.
  assert.equal(stored.metadata.generation, 1);
  const [condition] = stored.status.conditions;
  assert.equal(condition.type, "PodScheduled");
  assert.equal(condition.status, "True");
  const again = await refusal(act(["bindings", ""], "bound", body));
  assert.equal(again.code, 409);
  assert.equal(
    again.message,
    'Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "n1"',
  );
});

test("a pod that is bound is nominated for no node any more", async () => {
  await create("", "pods", pod("nominated"));
  const status = { nominatedNodeName: "n2" };
  await merge(["", "pods", "status"], "nominated", { status });
  assert.equal((await read("", "pods", "nominated")).status.nominatedNodeName, "n2");
  const body = { metadata: { name: "nominated" }, target: { name: "n1" } };
  await act(["pods", "binding"], "nominated", body);
  const bound = await read("", "pods", "nominated");
  assert.equal(bound.status.nominatedNodeName, undefined);
  assert.equal(bound.status.phase, "Pending");
});

test("of many schedulers that bind one pod, one does", async () => {
  await create("", "pods", pod("contested"));
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, (_, i) => {
      const target = { name: `n${i}` };
      const body = { metadata: { name: "contested" }, target };
      return act(["bindings", ""], "contested", body);
    }),
  );
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
});

test("a binding that makes no sense is refused", async () => {
  await create("", "pods", pod("gated", { schedulingGates: [{ name: "example.com/wait" }] }));
  const bind = (metadata: JsonObject, target: JsonObject) =>
    refusal(act(["pods", "binding"], "gated", { metadata, target }));
  assert.equal((await bind({ name: "other" }, { name: "n" })).code, 400);
  assert.equal((await bind({ name: "gated" }, { name: "" })).code, 422);
  assert.equal((await bind({ name: "gated" }, { name: "n", kind: "Pod" })).code, 422);
  assert.equal((await bind({ name: "gated", uid: "other" }, { name: "n" })).code, 409);
  assert.match((await bind({ name: "gated" }, { name: "n" })).message, /schedulingGates/);
  await create("", "pods", pod("recreated"));
  const stale = { metadata: { name: "recreated", uid: "other" }, target: { name: "n" } };
  const isOther = await refusal(act(["pods", "binding"], "recreated", stale));
  assert.equal(isOther.code, 409);
  assert.match(isOther.message, /Precondition failed: UID in precondition: other, UID in object/);
  const none = { metadata: { name: "none" }, target: { name: "n" } };
  assert.equal((await refusal(act(["pods", "binding"], "none", none))).code, 404);
});

test("S1-CRUD-08: ephemeral containers are added and then stay", async () => {
  await create("", "pods", pod("debugged"));
  const path = ["", "pods", "ephemeralcontainers"] as const;
  const debug = { name: "debug", image: "busybox", targetContainerName: "c" };
  const added = await merge(path, "debugged", {
    metadata: { labels: { app: "other" } },
    spec: { ephemeralContainers: [debug], nodeName: "n1" },
  });
  const spec = added.spec;
  assert.equal(spec.ephemeralContainers[0].name, "debug");
  assert.equal(spec.nodeName, undefined);
  assert.deepEqual(added.metadata.labels, LABELS);
  const cases: readonly (readonly [JsonObject[], RegExp])[] = [
    [[], /existing ephemeral containers "debug" may not be removed/],
    [[{ ...debug, image: "other" }], /existing ephemeral containers "debug" may not be changed/],
    [[...spec.ephemeralContainers, { name: "c", image: "i" }], /\[1\].name: Duplicate value: "c"/],
    [[...spec.ephemeralContainers, { name: "d", image: "" }], /\[1\].image: Required value/],
    [
      [
        ...spec.ephemeralContainers,
        { name: "d", image: "i", targetContainerName: "x", ports: [{ containerPort: 1 }] },
      ],
      /targetContainerName: Not found: "x".*ports: Forbidden: cannot be set/,
    ],
  ];
  for (const [ephemeralContainers, message] of cases) {
    const error = await refusal(merge(path, "debugged", { spec: { ephemeralContainers } }));
    assert.equal(error.code, 422);
    assert.match(error.message, message);
  }
});

test("S1-CRUD-08: a resize changes cpu and memory of containers and nothing else", async () => {
  const sized = (resources: JsonObject) => [{ name: "c", image: "i", resources }];
  await create("", "pods", {
    metadata: { name: "sized" },
    spec: { containers: sized({ requests: { cpu: "1" }, limits: { cpu: "2" } }) },
  });
  const path = ["", "pods", "resize"] as const;
  const resized = await merge(path, "sized", {
    spec: {
      containers: [
        {
          name: "c",
          image: "other",
          resources: { requests: { cpu: "1500m" }, limits: { cpu: "3" } },
        },
      ],
    },
  });
  const { containers } = resized.spec;
  assert.equal(containers.length, 1);
  assert.equal(containers[0].image, "i");
  assert.deepEqual(containers[0].resources, { limits: { cpu: "3" }, requests: { cpu: "1500m" } });
  const cases: readonly (readonly [JsonObject, RegExp])[] = [
    [{ requests: { cpu: "5" }, limits: { cpu: "3" } }, /less than or equal to cpu limit of 3/],
    [{ requests: { cpu: "1" } }, /resource limits cannot be removed/],
    [
      { requests: { cpu: "1", "ephemeral-storage": "1Gi" }, limits: { cpu: "3" } },
      /only cpu and memory resources are mutable/,
    ],
    [
      { requests: { cpu: "3", memory: "1Gi" }, limits: { cpu: "3", memory: "1Gi" } },
      /QOS Class may not change/,
    ],
  ];
  for (const [resources, message] of cases) {
    const error = await refusal(merge(path, "sized", { spec: { containers: sized(resources) } }));
    assert.equal(error.code, 422);
    assert.match(error.message, message);
  }
});

test("a certificate request is approved once, and not denied as well", async () => {
  const request = readFileSync(REQUEST).toString("base64");
  const signer = { signerName: "example.com/signer", usages: ["client auth"], request };
  await create(
    "certificates.k8s.io",
    "certificatesigningrequests",
    { metadata: { name: "csr" }, spec: signer },
    "",
  );
  const path = ["certificates.k8s.io", "certificatesigningrequests", "approval"] as const;
  const condition = (type: string) => ({ type, status: "True", reason: "R", message: "m" });
  const approve = (...types: string[]) =>
    merge(path, "csr", {
      spec: { signerName: "example.com/other" },
      status: { certificate: "YQ==", conditions: types.map(condition) },
    });
  const both = await refusal(approve("Approved", "Denied"));
  assert.match(both.message, /mutually exclusive/);
  const approved = await approve("Approved");
  const status = approved.status;
  assert.equal(status.certificate, undefined);
  assert.equal(approved.spec.signerName, "example.com/signer");
  assert.equal(status.conditions[0].type, "Approved");
  assert.match(status.conditions[0].lastUpdateTime, /^20/);
  assert.match(
    (await refusal(approve("Denied"))).message,
    /may not remove a condition of type "Approved"/,
  );
});
