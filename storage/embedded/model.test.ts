/**
 * The embedded store against a small model that keeps every state in full: after any sequence of
 * writes, compactions and reopens, every read of every revision equals the model's.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { systemClock } from "../base/clock.js";
import { compareTexts } from "../base/compare-texts.js";
import { silentLogger } from "../base/logger.js";
import type { KeyValue, Operation, Revision, RevisionedStore } from "../kv/store.js";
import { toRevision } from "../kv/store.js";
import { openEmbeddedStore } from "./embedded-store.js";

const signal = new AbortController().signal;
/** Prefixes of each other, and characters on both sides of the surrogates. */
const keys = [
  "a",
  "a/",
  "a/b",
  "a/b\u0001",
  "a0",
  "b",
  "\u00e9",
  "\ufffd",
  "\u{1f600}",
  "\u{1f600}a",
];
const prefixes = ["a", "a/", "b", "\u{1f600}", "\ufffd", "z"];

type Step =
  | { readonly type: "commit"; readonly writes: readonly { key: string; value?: string }[] }
  | { readonly type: "group"; readonly writes: readonly { key: string; value?: string }[] }
  | { readonly type: "compact"; readonly part: number }
  | { readonly type: "reopen" };

const write = fc.record(
  { key: fc.constantFrom(...keys), value: fc.string({ maxLength: 3 }) },
  { requiredKeys: ["key"] },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("commit" as const),
      writes: fc.uniqueArray(write, { selector: ({ key }) => key, minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("group" as const),
      writes: fc.array(write, { minLength: 2, maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("compact" as const),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "reopen" } as const) },
);

type State = ReadonlyMap<string, Omit<KeyValue, "key" | "value"> & { readonly value: string }>;

test("any history of writes, compactions and restarts reads as the model says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const directory = await mkdtemp(join(tmpdir(), "keelson-model-"));
      const open = () => openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
      let store = await open();
      try {
        const states = new Map<Revision, State>([[toRevision(1), new Map()]]);
        let head = toRevision(1);
        let compacted = toRevision(0);
        const expectCommit = (operations: readonly Operation[]) => {
          const next = stateAfter(states.get(head) ?? new Map(), operations, toRevision(head + 1));
          if (next === undefined) return head;
          head = toRevision(head + 1);
          states.set(head, next);
          return head;
        };
        for (const current of steps) {
          if (current.type === "reopen") {
            await store[Symbol.asyncDispose]();
            store = await open();
          } else if (current.type === "compact") {
            const at = toRevision(Math.max(1, Math.floor(head * current.part)));
            await store.compact(at, signal);
            if (at > compacted) compacted = at;
          } else {
            // A group is commits sent at once, which the store writes as one lmdb transaction.
            const operations = current.writes.map(operationOf);
            const commits =
              current.type === "commit" ? [operations] : operations.map((one) => [one]);
            const expected = commits.map(expectCommit);
            const results = await Promise.all(
              commits.map((commit) => store.commit({ compares: [], operations: commit }, signal)),
            );
            assert.deepEqual(
              results.map(({ revision }) => revision),
              expected,
            );
          }
        }
        for (const [revision, state] of states) {
          await checkRevision(store, revision, state, revision < compacted);
        }
        await checkWatch(store, states, toRevision(Math.max(compacted, 1)), head);
      } finally {
        await store[Symbol.asyncDispose]();
        await rm(directory, { recursive: true, force: true });
      }
    }),
    { numRuns: 40 },
  );
});

function operationOf({ key, value }: { key: string; value?: string }): Operation {
  return value === undefined
    ? { type: "delete", key }
    : { type: "put", key, value: Buffer.from(value) };
}

/** The state after a commit; undefined = it changes nothing. */
function stateAfter(
  before: State,
  operations: readonly Operation[],
  revision: Revision,
): State | undefined {
  const next = new Map(before);
  let isChanged = false;
  for (const operation of operations) {
    const previous = before.get(operation.key);
    if (operation.type === "delete") {
      isChanged = next.delete(operation.key) || isChanged;
    } else {
      isChanged = true;
      next.set(operation.key, {
        value: Buffer.from(operation.value).toString(),
        modRevision: revision,
        createRevision: previous?.createRevision ?? revision,
      });
    }
  }
  return isChanged ? next : undefined;
}

async function checkRevision(
  store: RevisionedStore,
  revision: Revision,
  state: State,
  isCompacted: boolean,
): Promise<void> {
  for (const prefix of prefixes) {
    const range = store.range({ prefix, revision }, signal);
    if (isCompacted) {
      await assert.rejects(range, { code: "Compacted" });
      continue;
    }
    const expected = [...state]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
      .map(([key, entry]) => ({ ...entry, key }));
    const shown = (kvs: readonly KeyValue[]) =>
      kvs.map((kv) => ({ ...kv, value: kv.value.toString() }));
    assert.deepEqual(shown((await range).kvs), expected);

    for (const after of ["a", "a/b", "\ufffd"]) {
      const rest = expected.filter(({ key }) => compareTexts(key, after) > 0);
      const page = await store.range({ prefix, revision, after, limit: 2 }, signal);
      assert.deepEqual(shown(page.kvs), rest.slice(0, 2));
      assert.deepEqual([page.count, page.more], [rest.length, rest.length > 2]);
    }
  }
  for (const key of isCompacted ? [] : keys) {
    const { kv } = await store.get(key, { revision }, signal);
    const expected = state.get(key);
    assert.deepEqual(kv && { ...kv, value: kv.value.toString() }, expected && { ...expected, key });
  }
}

/** Replays the events after `from` and compares every later state on the way. */
async function checkWatch(
  store: RevisionedStore,
  states: ReadonlyMap<Revision, State>,
  from: Revision,
  head: Revision,
): Promise<void> {
  if (from === head) return;
  const replayed = new Map(states.get(from));
  const options = { prefix: "", after: from, withPrevious: true };
  for await (const { events, revision } of store.watch(options, signal)) {
    for (const [index, event] of events.entries()) {
      const key = event.type === "put" ? event.kv.key : event.key;
      assert.equal(event.previous?.value.toString(), replayed.get(key)?.value);
      if (event.type === "put") {
        const { value, modRevision, createRevision } = event.kv;
        replayed.set(key, { value: value.toString(), modRevision, createRevision });
      } else replayed.delete(key);
      const at = event.type === "put" ? event.kv.modRevision : event.modRevision;
      const next = events[index + 1];
      const nextAt = next && (next.type === "put" ? next.kv.modRevision : next.modRevision);
      if (at !== nextAt) assert.deepEqual(replayed, new Map(states.get(at)));
    }
    if (revision >= head) return;
  }
}
