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

test("#45 calls of an API refuse what they do not know, and say what they expect", async () => {
  await using api = await startKeelson({ controlPlanes: true, record: true });
  const calls: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
    [() => api.requests({ usr: "a" } as object), /^requests: option "usr" is unknown; known are/],
    [() => api.requests({ since: "now" as never }), /^requests: option since: a Date, or a req/],
    [() => api.requests({ since: new Date(Number.NaN) }), /^requests: option since: a Date/],
    [() => api.settled({ quietMs: -1 }), /^settled: option quietMs: a number of milliseconds/],
    [() => api.settled({ quiet: 1 } as object), /^settled: option "quiet" is unknown/],
    [() => api.timeline({ lanes: "user" as never }), /^timeline: option lanes: "client" or/],
    [() => api.reset("1" as never), /^reset: a snapshot is expected/],
    [() => api.controlPlane({ clonefrom: "a" } as object), /^controlPlane: option "clonefrom" is/],
    [() => api.controlPlane({ cloneFrom: 7 as never }), /^controlPlane: option cloneFrom: a con/],
    [() => api.controlPlane(7 as never), /^controlPlane: an object of options is expected/],
    [() => (api.fork as (asked: object) => Promise<unknown>)({ name: "a" }), /known are none/],
  ];
  for (const [call, message] of calls) {
    await assert.rejects(call(), { name: "TypeError", message });
  }
  const [first = { number: 0 }] = await api.requests();
  await api.requests({ since: first as never, user: undefined as never, verb: "get" });
  const [fork] = await Promise.all(Array.from({ length: 1 }, api.fork));
  await fork?.[Symbol.asyncDispose]();
});
