/**
 * Our encoding of etcd's messages against the .proto that ships with etcd3: a general reader
 * understands our bytes, and we understand a general writer's.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import protobuf from "protobufjs";
import { StorageError } from "../kv/errors.js";
import type { LeaseId, Operation, Revision } from "../kv/store.js";
import {
  decodeLeaseGrant,
  decodeRange,
  decodeStatus,
  decodeTxn,
  decodeWatch,
  encodeCompaction,
  encodeLeaseGrant,
  encodeRange,
  encodeTxn,
  encodeWatchCreate,
  encodeWatchProgress,
  keysOf,
} from "./messages.js";

const etcd3Folder = dirname(dirname(createRequire(import.meta.url).resolve("etcd3")));
const root = await protobuf.load(join(etcd3Folder, "proto", "rpc.proto"));

function typeOf(name: string): protobuf.Type {
  return root.lookupType(`etcdserverpb.${name}`);
}

/** Our bytes as a general reader decodes them. */
function read(name: string, message: Buffer): Record<string, unknown> {
  const type = typeOf(name);
  const decoded = type.decode(message);
  return type.toObject(decoded, { longs: String, bytes: String });
}

/** The bytes of a message as etcd would send it. */
function write(name: string, fields: Record<string, unknown>): Buffer {
  const type = typeOf(name);
  return Buffer.from(type.encode(type.fromObject(fields)).finish());
}

function base64(text: string | Uint8Array): string {
  return Buffer.from(text).toString("base64");
}

const keys = fc.string({ minLength: 1, maxLength: 200, unit: "grapheme" });
const values = fc.uint8Array({ maxLength: 300 });
const revisions = fc.maxSafeNat() as fc.Arbitrary<Revision>;
const positiveRevisions = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const leases = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map((id) => String(id) as LeaseId);

test("compaction and leases read back as written", () => {
  fc.assert(
    fc.property(positiveRevisions, leases, (number, lease) => {
      const revision = number as Revision;
      assert.deepEqual(read("CompactionRequest", encodeCompaction(revision)), {
        revision: String(revision),
      });
      assert.deepEqual(read("LeaseGrantRequest", encodeLeaseGrant(number)), {
        TTL: String(number),
      });
      const answer = { header: { clusterId: "7", revision: "9" }, ID: lease, TTL: 60 };
      assert.equal(decodeLeaseGrant(write("LeaseGrantResponse", answer)), lease);
    }),
  );
});

test("a range request reads back as written", () => {
  fc.assert(
    fc.property(keys, keys, positiveRevisions, fc.boolean(), (key, end, number, countOnly) => {
      const revision = number as Revision;
      assert.deepEqual(read("RangeRequest", encodeRange({ key, end, revision, countOnly })), {
        key: base64(key),
        rangeEnd: base64(end),
        revision: String(revision),
        ...(countOnly ? { countOnly } : {}),
      });
    }),
  );
});

test("a transaction reads back as written, with a read of each compared key", () => {
  const operations: fc.Arbitrary<Operation> = fc.oneof(
    fc.record({ type: fc.constant("delete" as const), key: keys }),
    fc.record({ type: fc.constant("put" as const), key: keys, value: values }),
    fc.record({ type: fc.constant("put" as const), key: keys, value: values, lease: leases }),
  );
  const compares = fc.record({ key: keys, modRevision: revisions });
  fc.assert(
    fc.property(fc.array(compares), fc.array(operations), (comparesSent, operationsSent) => {
      const transaction = { compares: comparesSent, operations: operationsSent };
      const expected = {
        ...some("compare", comparesSent, ({ key, modRevision }) => ({
          target: 2,
          key: base64(key),
          modRevision: String(modRevision),
        })),
        ...some("success", operationsSent, (operation) => {
          const key = base64(operation.key);
          if (operation.type === "delete") return { requestDeleteRange: { key } };
          const lease = operation.lease === undefined ? {} : { lease: operation.lease };
          const value = operation.value.length === 0 ? {} : { value: base64(operation.value) };
          return { requestPut: { key, ...value, ...lease } };
        }),
        ...some("failure", comparesSent, ({ key }) => ({ requestRange: { key: base64(key) } })),
      };
      assert.deepEqual(read("TxnRequest", encodeTxn(transaction)), expected);
    }),
  );
});

test("watch requests read back as written", () => {
  const call = { ...keysOf("/registry/"), startRevision: 2 ** 40, withPrevious: true };
  assert.deepEqual(read("WatchRequest", encodeWatchCreate(call)), {
    createRequest: {
      key: base64("/registry/"),
      rangeEnd: base64("/registry0"),
      startRevision: String(2 ** 40),
      progressNotify: true,
      prevKv: true,
      fragment: true,
    },
  });
  assert.deepEqual(read("WatchRequest", encodeWatchProgress()), { progressRequest: {} });
});

const keyValues = fc.record({
  key: keys,
  value: values,
  modRevision: revisions,
  createRevision: revisions,
  version: fc.maxSafeNat(),
  lease: fc.maxSafeNat(),
});

function sent(kv: { readonly key: string; readonly value: Uint8Array }) {
  return { ...kv, key: Buffer.from(kv.key) };
}

function received(kv: {
  readonly key: string;
  readonly value: Uint8Array;
  readonly modRevision: Revision;
  readonly createRevision: Revision;
}) {
  const { key, value, modRevision, createRevision } = kv;
  return { key, value: Buffer.from(value), modRevision, createRevision };
}

test("answers of ranges and transactions are understood", () => {
  fc.assert(
    fc.property(fc.array(keyValues), revisions, fc.boolean(), (kvs, revision, more) => {
      const header = { clusterId: 1, memberId: 2, revision, raftTerm: 3 };
      const range = { header, kvs: kvs.map(sent), more, count: kvs.length };
      assert.deepEqual(decodeRange(write("RangeResponse", range)), {
        revision,
        kvs: kvs.map(received),
        more,
        count: kvs.length,
      });
      const responses = [
        { responsePut: { header } },
        { responseRange: range },
        { responseRange: { header, count: 0 } },
      ];
      const [first] = kvs;
      assert.deepEqual(decodeTxn(write("TxnResponse", { header, succeeded: more, responses })), {
        revision,
        succeeded: more,
        ranges: [first && received(first), undefined],
      });
    }),
  );
});

test("answers of watches are understood", () => {
  const events = fc.record({
    isDelete: fc.boolean(),
    kv: keyValues,
    previous: fc.option(keyValues),
  });
  fc.assert(
    fc.property(fc.array(events), revisions, fc.boolean(), (changes, revision, fragment) => {
      const message = write("WatchResponse", {
        header: { revision },
        watchId: -1,
        fragment,
        events: changes.map(({ isDelete, kv, previous }) => ({
          type: isDelete ? 1 : 0,
          kv: sent(kv),
          ...(previous === null ? {} : { prevKv: sent(previous) }),
        })),
      });
      const answer = decodeWatch(message);
      assert.equal(answer.revision, revision);
      assert.equal(answer.isFragment, fragment);
      assert.deepEqual(
        answer.events,
        changes.map(({ isDelete, kv, previous }) => ({
          ...(isDelete
            ? { type: "delete", key: kv.key, modRevision: kv.modRevision }
            : { type: "put", kv: received(kv) }),
          ...(previous === null ? {} : { previous: received(previous) }),
        })),
      );
    }),
  );
});

test("a cancelled watch says why", () => {
  const fields = { header: { revision: 9 }, canceled: true, compactRevision: 7, cancelReason: "x" };
  const answer = decodeWatch(write("WatchResponse", fields));
  assert.deepEqual(
    [answer.isCanceled, answer.compactRevision, answer.cancelReason],
    [true, 7, "x"],
  );
});

test("status gives version and cluster, whose id may be any uint64", () => {
  const header = { clusterId: "18446744073709551615", revision: 1 };
  assert.deepEqual(decodeStatus(write("StatusResponse", { header, version: "3.5.16" })), {
    version: "3.5.16",
    clusterId: "18446744073709551615",
  });
});

test("S1-VER-09: a revision beyond 2^53-1 is Refused, never rounded", () => {
  const message = write("RangeResponse", { header: { revision: "9007199254740993" } });
  assert.throws(
    () => decodeRange(message),
    (error) => error instanceof StorageError && error.code === "Refused",
  );
  const largest = write("RangeResponse", { header: { revision: "9007199254740991" } });
  assert.equal(decodeRange(largest).revision, Number.MAX_SAFE_INTEGER);
});

test("wild bytes are a StorageError or an answer, never anything else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      for (const decode of [decodeRange, decodeTxn, decodeWatch, decodeStatus]) {
        try {
          decode(Buffer.from(bytes));
        } catch (error) {
          assert.ok(error instanceof StorageError, String(error));
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a truncated answer is never taken for a shorter one", () => {
  const kvs = [{ key: Buffer.from("/a"), value: Buffer.alloc(100), modRevision: 5 }];
  const message = write("RangeResponse", { header: { revision: 300 }, kvs });
  for (let length = 6; length < message.length; length++) {
    assert.throws(() => decodeRange(message.subarray(0, length)), StorageError);
  }
});

/** A field that the general reader omits when it is empty. */
function some<T>(name: string, items: readonly T[], toField: (item: T) => unknown) {
  return items.length === 0 ? {} : { [name]: items.map(toField) };
}
