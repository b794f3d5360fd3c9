/** The small parts of the etcd store, without an etcd: versions, leases, signals, errors. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import { AbortHub } from "../base/abort-hub.js";
import type { Clock } from "../base/clock.js";
import { StorageError } from "../kv/errors.js";
import type { LeaseId } from "../kv/store.js";
import { GRPC_STATUS, RpcError, toStorageError } from "./errors.js";
import { SharedLeases } from "./leases.js";
import { keysOf, prefixEnd } from "./messages.js";
import { hasTrustedProgress, isSupported } from "./version.js";

test("etcd before 3.4 is not supported", () => {
  for (const version of ["2.3.8", "3.3.27", "", "not a version"]) {
    assert.equal(isSupported(version), false, version);
  }
  for (const version of ["3.4.0", "3.4.23", "3.5.16", "3.6.0-rc.1", "4.0.0"]) {
    assert.equal(isSupported(version), true, version);
  }
});

test("progress is trusted from 3.4.31, 3.5.13 and 3.6 on", () => {
  const table: readonly [string, boolean][] = [
    ["3.4.0", false],
    ["3.4.30", false],
    ["3.4.31", true],
    ["3.5.12", false],
    ["3.5.13", true],
    ["3.5.100", true],
    ["3.6.0-alpha.0", true],
    ["4.0.0", true],
    ["", false],
  ];
  for (const [version, expected] of table) {
    assert.equal(hasTrustedProgress(version), expected, version);
  }
});

test("the end of a prefix is the smallest key above all that start with it", () => {
  assert.deepEqual(prefixEnd("/registry/"), Buffer.from("/registry0"));
  assert.deepEqual(prefixEnd(""), Buffer.from([0]));
  assert.deepEqual(prefixEnd("é"), Buffer.from([0xc3, 0xaa]));
  assert.deepEqual(keysOf("/a/", "/a/b"), { key: "/a/b\0", end: Buffer.from("/a0") });
  assert.deepEqual(keysOf("/a/", "/"), { key: "/a/", end: Buffer.from("/a0") });
  assert.deepEqual(keysOf("").key, "\0");
});

test("calls that share a signal share one listener, and each ends with the signal's reason", () => {
  const hub = new AbortHub();
  const controller = new AbortController();
  const { signal } = controller;
  const ended: unknown[] = [];
  const calls = Array.from({ length: 100 }, (_, index) => ({
    abort: (reason: unknown) => ended.push([index, reason]),
  }));
  const slots = calls.map((call) => hub.add(signal, call));
  assert.equal(getEventListeners(signal, "abort").length, 1);
  for (const slot of slots.slice(2)) hub.delete(signal, slot);
  controller.abort("gone");
  assert.deepEqual(ended, [
    [0, "gone"],
    [1, "gone"],
  ]);
});

test("a signal whose calls are all done is left without a listener", async () => {
  const hub = new AbortHub();
  const { signal } = new AbortController();
  const call = { abort: () => assert.fail("not aborted") };
  hub.delete(signal, hub.add(signal, call));
  assert.equal(await hub.race(signal, Promise.resolve(1)), 1);
  await assert.rejects(hub.race(signal, Promise.reject(new Error("no"))), /no/);
  const aborted = AbortSignal.abort(new Error("before"));
  await assert.rejects(hub.race(aborted, Promise.resolve(1)), /before/);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("leases: about the same end is the same lease, with at least the asked time left", async () => {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs } as Clock;
  const ends = new Map<LeaseId, number>();
  const leases = new SharedLeases(clock, async (ttlSeconds) => {
    const id = String(ends.size + 1) as LeaseId;
    ends.set(id, nowMs + ttlSeconds * 1_000);
    return id;
  });
  const random = fc.array(
    fc.record({ ttl: fc.integer({ min: 1, max: 7_200 }), passMs: fc.nat(10_000) }),
  );
  await fc.assert(
    fc.asyncProperty(random, async (requests) => {
      for (const { ttl, passMs } of requests) {
        nowMs += passMs;
        const leftMs = (ends.get(await leases.get(ttl)) ?? 0) - nowMs;
        assert.ok(leftMs >= ttl * 1_000 && leftMs <= (ttl + 61) * 1_000);
      }
    }),
  );
  ends.clear();
  nowMs += 1e9;
  for (let second = 0; second < 600; second++) {
    nowMs += 1_000;
    await leases.get(3_600);
  }
  assert.ok(ends.size <= 11, `${ends.size} leases for ten minutes of requests`);
});

test("a lease that could not be granted is asked for again", async () => {
  const clock = { monotonic: () => 0 } as Clock;
  let attempts = 0;
  const leases = new SharedLeases(clock, async () => {
    if (++attempts === 1) throw new StorageError("Unavailable", "down");
    return "7" as LeaseId;
  });
  await assert.rejects(leases.get(60), { code: "Unavailable" });
  assert.equal(await leases.get(60), "7");
  assert.equal(await leases.get(60), "7");
  assert.equal(attempts, 2);
});

test("each refusal of etcd has its StorageError; only lost writes and those that cross the quota are of unknown outcome", () => {
  const { unavailable, unauthenticated, deadlineExceeded, unknown } = GRPC_STATUS;
  const { permissionDenied, resourceExhausted } = GRPC_STATUS;
  const outOfRange = 11;
  const invalidArgument = 3;
  const table: readonly [number, string, string, boolean][] = [
    [outOfRange, "etcdserver: mvcc: required revision has been compacted", "Compacted", false],
    [
      outOfRange,
      "etcdserver: mvcc: required revision is a future revision",
      "FutureRevision",
      false,
    ],
    [invalidArgument, "etcdserver: request is too large", "TooLarge", false],
    [resourceExhausted, "grpc: received message larger than max (5 vs. 4)", "TooLarge", false],
    [resourceExhausted, "Received message larger than max (5 vs 4)", "Refused", false],
    [resourceExhausted, "etcdserver: mvcc: database space exceeded", "NoSpace", true],
    [resourceExhausted, "etcdserver: too many requests", "Unavailable", false],
    [invalidArgument, "etcdserver: duplicate key given in txn request", "Refused", false],
    [permissionDenied, "etcdserver: permission denied", "Refused", false],
    [unauthenticated, "etcdserver: invalid auth token", "Refused", false],
    [unavailable, "etcdserver: no leader", "Unavailable", false],
    [unavailable, "etcdserver: leader changed", "Unavailable", true],
    [unavailable, "etcdserver: request timed out", "Unavailable", true],
    [deadlineExceeded, "no answer within 10 s", "Unavailable", true],
    [unknown, "raft: stopped", "Unavailable", true],
    [unavailable, "the connection was lost", "Unavailable", true],
  ];
  for (const [status, message, code, outcomeUnknown] of table) {
    const error = new RpcError(status, message, { isSent: true });
    const write = toStorageError(error, true);
    assert.deepEqual([write.code, write.outcomeUnknown], [code, outcomeUnknown], message);
    const read = toStorageError(error, false);
    assert.deepEqual([read.code, read.outcomeUnknown], [code, false], message);
  }
  const unsent = new RpcError(unavailable, "cannot connect", { isSent: false });
  assert.equal(toStorageError(unsent, true).outcomeUnknown, false);
});
