import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../kv/store.js";
import { ByteArena } from "./byte-arena.js";
import { decodeStoredObject } from "./decode-object.js";
import { ObjectPatterns } from "./object-patterns.js";
import type { StoredObject } from "./stored-object.js";

const ROLES = "rbac.authorization.k8s.io/clusterroles";
const RULES = Array.from({ length: 20 }, (_, at) => ({
  apiGroups: [`group-${at}`],
  resources: ["things"],
  verbs: ["get", "list"],
}));

function role(uid: string, revision: number, rules: object[] = RULES): StoredObject {
  const metadata = { name: "view", uid, labels: { tier: "default" } };
  const value = {
    kind: "ClusterRole",
    apiVersion: "rbac.authorization.k8s.io/v1",
    metadata,
    rules,
  };
  const key = { path: "view", namespace: "", name: "view" };
  return decodeStoredObject(
    key,
    Buffer.from(JSON.stringify(value)),
    toRevision(revision),
    undefined,
  );
}

const uidOf = (digit: string) => digit.repeat(36);

test("objects that are alike keep only their differences, and read as they were", () => {
  const patterns = new ObjectPatterns((partition) => partition === ROLES);
  const arena = new ByteArena();
  const roles = ["1", "2", "3"].map((digit, at) => role(uidOf(digit), 100 + at));
  const texts = roles.map(({ bytes }) => bytes.toString());
  for (const one of roles) assert.equal(patterns.reduce(ROLES, one, arena), true);
  roles.forEach((one, at) => {
    assert.equal(one.bytes.toString(), texts[at]);
    assert.equal(one.length, texts[at]?.length);
    assert.ok(one.keptLength < 100, `${one.keptLength} bytes`);
    assert.deepEqual(one.labels, { tier: "default" });
  });
  assert.equal(roles[1]?.labels, roles[2]?.labels, "equal labels are kept once");
  roles[0]?.moveTo(arena);
  assert.equal(roles[0]?.bytes.toString(), texts[0], "its differences may be moved");
});

test("an object that is unlike the known ones becomes a pattern, too; other resources are kept whole", () => {
  const patterns = new ObjectPatterns((partition) => partition === ROLES);
  const arena = new ByteArena();
  const other = RULES.map(({ verbs }, at) => ({ nonResourceURLs: [`/path/${at * 7}`], verbs }));
  for (const digit of ["1", "2", "3", "4"]) {
    const [one, unlike] = [role(uidOf(digit), 100), role(uidOf(digit), 100, other)];
    const text = unlike.bytes.toString();
    assert.equal(patterns.reduce(ROLES, one, arena), true);
    assert.equal(patterns.reduce(ROLES, unlike, arena), true);
    assert.equal(unlike.bytes.toString(), text);
  }
  assert.ok(patterns.bytes < 6_000, `${patterns.bytes} bytes of two patterns`);
  const pod = role(uidOf("5"), 100);
  assert.equal(patterns.reduce("core/pods", pod, arena), false);
  assert.equal(pod.keptLength, pod.length);
});
