import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { withMembers } from "./with-members.js";

test("a record with more members is what spreading both makes, in the same order", () => {
  const record = fc.dictionary(
    fc.constantFrom("a", "b", "c", "__proto__", "toString"),
    fc.integer(),
  );
  const members = fc.dictionary(fc.constantFrom("a", "b", "c", "toString"), fc.integer());
  fc.assert(
    fc.property(record, members, (base, more) => {
      const before = JSON.stringify(base);
      assert.equal(JSON.stringify(withMembers(base, more)), JSON.stringify({ ...base, ...more }));
      assert.equal(JSON.stringify(base), before);
    }),
  );
});

test("a member __proto__ of a client's object stays a member", () => {
  const copy = withMembers(JSON.parse('{"__proto__":{"isAdmin":true}}'), { name: "a" });
  assert.equal(copy.isAdmin, undefined);
  assert.equal(Object.getPrototypeOf(copy), Object.prototype);
  assert.deepEqual(Object.keys(copy), ["__proto__", "name"]);
});
