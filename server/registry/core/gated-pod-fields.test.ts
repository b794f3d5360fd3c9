/** Which fields of pods and their templates are dropped because their features are off. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { createUser } from "../../request/user-info.js";
import { resourceOf, type TestObject } from "../testing/problems.js";

const context = {
  nowMs: 0,
  subresource: "" as const,
  naming: createNaming("kubernetes"),
  user: createUser({ name: "ann" }),
};
const SPEC = {
  schedulingGroup: { podGroupName: "a" },
  containers: [
    { name: "a", lifecycle: { stopSignal: "SIGTERM" } },
    { name: "b", lifecycle: { stopSignal: "SIGTERM", preStop: { sleep: { seconds: 1 } } } },
    { name: "c", lifecycle: {} },
  ],
  initContainers: [{ name: "d", lifecycle: { stopSignal: "SIGUSR1" } }],
  volumes: [
    {
      name: "v",
      projected: {
        sources: [{ clusterTrustBundle: { path: "a" } }, { podCertificate: {} }, { secret: {} }],
      },
    },
    { name: "w", emptyDir: {} },
  ],
};
const LEFT = {
  containers: [
    { name: "a" },
    { name: "b", lifecycle: { preStop: { sleep: { seconds: 1 } } } },
    { name: "c", lifecycle: {} },
  ],
  initContainers: [{ name: "d" }],
  volumes: [
    { name: "v", projected: { sources: [{}, {}, { secret: {} }] } },
    { name: "w", emptyDir: {} },
  ],
};

/** Each kind with pods, and where their specification is. */
const PLACES: readonly (readonly [name: string, at: string])[] = [
  ["v1/pods", "spec"],
  ["v1/podtemplates", "template.spec"],
  ["v1/replicationcontrollers", "spec.template.spec"],
  ["apps/v1/daemonsets", "spec.template.spec"],
  ["apps/v1/deployments", "spec.template.spec"],
  ["apps/v1/replicasets", "spec.template.spec"],
  ["apps/v1/statefulsets", "spec.template.spec"],
  ["batch/v1/cronjobs", "spec.jobTemplate.spec.template.spec"],
  ["batch/v1/jobs", "spec.template.spec"],
];

function objectWith(spec: object, at: string): ApiObject {
  const content = at
    .split(".")
    .reduceRight<object>((inner, name) => ({ [name]: inner }), structuredClone(spec));
  return { ...content, metadata: { name: "x", uid: "u" } } as unknown as ApiObject;
}

function specIn(object: ApiObject, at: string): TestObject {
  return at
    .split(".")
    .reduce<TestObject>((owner, name) => owner[name] as TestObject, object as never);
}

for (const [name, at] of PLACES) {
  test(`R25, R44: gated fields of pods are dropped from ${name}, and stay usable where they are used`, () => {
    const { strategy } = resourceOf(name);
    const created = objectWith(SPEC, at);
    strategy.prepareForCreate?.(created, context);
    assert.deepEqual(specIn(created, at), LEFT);

    const added = objectWith(SPEC, at);
    strategy.prepareForUpdate?.(added, objectWith(LEFT, at), context);
    assert.deepEqual(specIn(added, at), LEFT);

    const one = { ...LEFT, initContainers: SPEC.initContainers };
    const used = objectWith(SPEC, at);
    strategy.prepareForUpdate?.(used, objectWith(one, at), context);
    assert.deepEqual(specIn(used, at), { ...LEFT, ...pick("containers", "initContainers") });
  });
}

function pick(...names: readonly (keyof typeof SPEC)[]): object {
  return Object.fromEntries(names.map((name) => [name, SPEC[name]]));
}

test("R44: gated fields of a pod's status are dropped by an update of it", () => {
  const { strategy } = resourceOf("v1/pods");
  const status = {
    nodeAllocatableResourceClaimStatuses: [{}],
    containerStatuses: [{ name: "a", volumeMounts: [{ name: "v", volumeStatus: { image: {} } }] }],
  };
  const podWith = (content: object) => ({ ...objectWith({}, "spec"), status: content });
  const next = podWith(structuredClone(status));
  strategy.prepareForUpdate?.(next, podWith({}), { ...context, subresource: "status" });
  assert.deepEqual(next.status, {
    containerStatuses: [{ name: "a", volumeMounts: [{ name: "v" }] }],
  });
  const kept = podWith(structuredClone(status));
  strategy.prepareForUpdate?.(kept, podWith(status), { ...context, subresource: "status" });
  assert.deepEqual(kept.status, status);
});
