/** When a control plane may begin with rest: whoever wrote last, and what the server's own objects depend on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RevisionedStore, Transaction } from "../../storage/kv/store.js";
import { RestMark } from "./rest-mark.js";

const never = new AbortController().signal;

function openStore() {
  const values = new Map<string, Uint8Array>();
  let commits = 0;
  const store = {
    async get(key: string) {
      const value = values.get(key);
      return { kv: value && { key, value } };
    },
    async commit({ operations }: Transaction) {
      commits++;
      for (const one of operations) {
        if (one.type === "put") values.set(one.key, one.value);
        else values.delete(one.key);
      }
    },
  } as unknown as RevisionedStore;
  const open = async (basis: unknown) => {
    const mark = new RestMark({ store, prefix: "/parts/a/", basis });
    await mark.read(never);
    return mark;
  };
  return { open, commits: () => commits, keys: () => [...values.keys()] };
}

test("44: rest is found by whoever has the same basis, until a change takes it away", async () => {
  const { open, commits, keys } = openStore();
  const one = await open(["0.1.0", "an authority"]);
  assert.equal(one.isThere, false);
  await one.delete(never);
  assert.equal(commits(), 0, "it is not there");
  await one.put(never);
  await one.put(never);
  assert.equal(commits(), 1);
  assert.deepEqual(keys(), ["/parts/a/.rested"]);
  const other = await open(["0.1.0", "an authority"]);
  assert.equal(other.isThere, true);
  assert.equal((await open(["0.2.0", "an authority"])).isThere, false);
  await other.delete(never);
  assert.equal(other.isThere, false);
  assert.equal((await open(["0.1.0", "an authority"])).isThere, false);
});
