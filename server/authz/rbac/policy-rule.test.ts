import assert from "node:assert/strict";
import { test } from "node:test";
import { toPolicyRules } from "./policy-rule.js";

test("39.6: what is no text in a stored rule is left out, whatever it is", () => {
  let deep: unknown = "x";
  for (let depth = 0; depth < 9_000; depth++) deep = [deep];
  const odd = [{ toString: 1 }, null, 7, deep];
  const rules = [
    { verbs: ["get", ...odd], resources: ["pods"], apiGroups: [""] },
    { verbs: odd, resources: [...odd, "pods"], apiGroups: [""] },
    { verbs: ["get"], resources: ["pods"], apiGroups: [""] },
  ];
  assert.deepEqual(toPolicyRules(rules), [
    { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
    { verbs: [], apiGroups: [""], resources: ["pods"] },
    { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
  ]);
});
