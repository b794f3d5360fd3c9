import assert from "node:assert/strict";
import { test } from "node:test";
import { type Cleanup, openAll } from "./cleanup.js";

function open(opened: Cleanup, closed: string[], names: readonly string[]): void {
  for (const name of names) {
    opened.use({
      async [Symbol.asyncDispose]() {
        closed.push(name);
        if (name.startsWith("bad")) throw new Error(name);
      },
    });
  }
}

test("what was opened before a failure is closed in reverse order, and the failure is thrown", async () => {
  const closed: string[] = [];
  const opening = openAll(async (opened) => {
    open(opened, closed, ["store", "bad cache", "listener"]);
    throw new Error("port taken");
  });
  await assert.rejects(opening, /^Error: port taken$/);
  assert.deepEqual(closed, ["listener", "bad cache", "store"]);
});

test("what was opened without a failure stays open until it is closed, once", async () => {
  const closed: string[] = [];
  const all = await openAll(async (opened) => {
    open(opened, closed, ["store", "listener"]);
    return opened;
  });
  assert.deepEqual(closed, []);
  await Promise.all([all[Symbol.asyncDispose](), all[Symbol.asyncDispose]()]);
  assert.deepEqual(closed, ["listener", "store"]);
});

test("one thing that cannot be closed is told after the others were closed", async () => {
  const closed: string[] = [];
  const openWith = (names: readonly string[]) =>
    openAll(async (opened) => {
      open(opened, closed, names);
      return opened;
    });
  const one = await openWith(["a", "bad b", "c"]);
  await assert.rejects(one[Symbol.asyncDispose](), /^Error: bad b$/);
  const two = await openWith(["bad d", "bad e"]);
  await assert.rejects(two[Symbol.asyncDispose](), AggregateError);
  assert.deepEqual(closed, ["c", "bad b", "a", "bad e", "bad d"]);
});
