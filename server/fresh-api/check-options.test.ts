/** The options of `startKeelson()`: what is refused, and how it is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startKeelson } from "../start-keelson.js";
import { checkOptions } from "./check-options.js";

const wrong: readonly (readonly [unknown, RegExp])[] = [
  [null, /^startKeelson: an object of options is expected$/],
  [{ manifest: [] }, /^startKeelson: option "manifest" is unknown; known are flags, users, /],
  [{ toString: 1 }, /^startKeelson: option "toString" is unknown/],
  [{ runsIn: "thread" }, /^startKeelson: option runsIn: "process" or "child" is expected$/],
  [{ users: "bob" }, /^startKeelson: option users: a list/],
  [{ users: [{}] }, /^startKeelson: option users: a list/],
  [{ users: [{ name: "a", groups: "b" }] }, /^startKeelson: option users: a list/],
  [{ manifests: "dir" }, /^startKeelson: option manifests: a list/],
  [{ manifests: [1] }, /^startKeelson: option manifests: a list/],
  [{ faults: "yes" }, /^startKeelson: option faults: true or false/],
  [{ simulate: "nodes" }, /^startKeelson: option simulate: true, false or an object/],
  [{ deadlineMs: "5s" }, /^startKeelson: option deadlineMs: a number/],
  [{ deadlineMs: Number.NaN }, /^startKeelson: option deadlineMs: a number/],
];
for (const [options, message] of wrong) {
  test(`#45 the options ${JSON.stringify(options)} are refused in one line`, async () => {
    assert.throws(() => checkOptions(options), { name: "TypeError", message });
    await assert.rejects(startKeelson(options as object), { name: "TypeError", message });
  });
}

test("#45 options as they are documented are taken, and so are those that are not given", () => {
  checkOptions({});
  checkOptions({ users: [{ name: "a" }, { name: "b", groups: ["c"] }], simulate: { nodes: 2 } });
  checkOptions({
    flags: undefined,
    manifests: ["a", { kind: "Pod" }],
    runsIn: "child",
    deadlineMs: 1,
  });
});
