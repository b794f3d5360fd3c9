/** R38: the pods of a StatefulSet are judged with its claims as volumes; the answers are those of release 1.36. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems, problemsOf } from "../testing/problems.js";

const SETS = "apps/v1/statefulsets";
const main = { name: "main", image: "example.test/image:1" };
const claim = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const setOf = (pod: object, more: object = {}) => ({
  spec: {
    serviceName: "x",
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers: [main], ...pod } },
    ...more,
  },
});
const mounts = (name: string) => ({
  containers: [{ ...main, volumeMounts: [{ name, mountPath: "/data" }] }],
});

test("R38: pods of a set keep the rules of pods, and mount its claims", () => {
  const at = "spec.template.spec";
  const withClaim = { volumeClaimTemplates: [claim] };
  assert.deepEqual(problemsOf(SETS, setOf({})), []);
  assert.deepEqual(problemsOf(SETS, setOf(mounts("data"), withClaim)), []);
  assert.deepEqual(problemsOf(SETS, setOf(mounts("other"), withClaim)), [
    `${at}.containers[0].volumeMounts[0].name: Not found: "other"`,
  ]);
  assert.deepEqual(problemsOf(SETS, setOf({ initContainers: [{ name: "i" }] })), [
    `${at}.initContainers[0].image: Required value`,
  ]);
  assert.deepEqual(problemsOf(SETS, setOf({ ephemeralContainers: [{ ...main, name: "e" }] })), [
    `${at}.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template`,
  ]);
});

test("R38: a template that was stored with a mistake does not stand in the way of other changes", () => {
  const old = setOf(mounts("other"));
  assert.deepEqual(changeProblems(SETS, old, setOf(mounts("other"), { replicas: 3 })), []);
  assert.equal(changeProblems(SETS, setOf({}), setOf(mounts("other"))).length, 1);
});
