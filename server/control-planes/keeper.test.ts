/** The keeper takes what is left of control planes that are gone, whoever removed them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import type { RangeRequest, RevisionedStore, Transaction } from "../../storage/kv/store.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import type { ControlledResource, Follower, ObjectsApi } from "../controllers/objects-api.js";
import { runKeeper } from "./keeper.js";

const PARTS = "/registry/.control-planes/";
const KEYS = "/registry/.control-plane-keys/";

/** Takes deletions, and lists keys below a prefix. */
function storeOf(keys: Set<string>): RevisionedStore {
  return {
    async range({ prefix, limit }: RangeRequest) {
      const found = [...keys].filter((key) => key.startsWith(prefix)).slice(0, limit);
      return { kvs: found.map((key) => ({ key })) };
    },
    async commit({ operations }: Transaction) {
      for (const { key } of operations) keys.delete(key);
      return { succeeded: true };
    },
  } as unknown as RevisionedStore;
}

test("what a control plane leaves that was removed in another way goes, and what is written a moment later", async () => {
  const others = [`${KEYS}uid-b`, `${PARTS}uid-b/core/secrets/x`];
  const left = [`${KEYS}uid-a`, `${PARTS}uid-a/core/secrets/x`, `${PARTS}uid-a/.begun`];
  const keys = new Set([...others, ...left]);
  const clock = new ManualClock();
  const ending = new AbortController();
  const followers: Follower[] = [];
  const objects = {
    resource: () => ({}) as ControlledResource,
    // A reset has put it back, with its uid.
    list: () => [{ metadata: { name: "b", uid: "uid-b" } }],
    async follow(_resource: ControlledResource, follower: Follower) {
      followers.push(follower);
    },
  } as unknown as ObjectsApi;
  const running = runKeeper(
    {
      ...{ objects, naming: createNaming(DEFAULT_VENDOR), clock, logger: silentLogger },
      ...{ store: storeOf(keys), partsPrefix: PARTS, partKeysPrefix: KEYS },
      urlOf: (name) => name,
      planes: { open: () => Promise.reject(new Error("nobody is asked for")) },
    },
    ending.signal,
  );
  const pass = async (seconds: number) => {
    for (let round = 0; round < seconds * 10; round++) {
      clock.advance(100);
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    }
  };
  for (const name of ["a", "b"]) followers[0]?.removed({ name, uid: `uid-${name}` });
  await pass(3);
  assert.deepEqual([...keys], others);
  // A replica that had it in memory has written this, and knows by now.
  keys.add(`${PARTS}uid-a/core/secrets/late`);
  await pass(15);
  assert.deepEqual([...keys], others);
  ending.abort();
  await running;
});
