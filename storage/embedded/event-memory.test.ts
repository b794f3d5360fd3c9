/** The embedded store keeps no event in memory that every watch has been given. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { temporaryDirectory } from "../base/testing/temporary-directory.js";
import { type RevisionedStore, type StoreEvent, toRevision } from "../kv/store.js";
import { openEmbeddedStore } from "./embedded-store.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const EVENTS = 64;
/** lmdb lets go of the last groups in its own time. */
const UNDER_WAY_MAX = 8;

const signal = new AbortController().signal;

async function storeFor(test: TestContext): Promise<RevisionedStore> {
  const directory = await temporaryDirectory(test);
  const store = await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
  test.after(() => store[Symbol.asyncDispose]());
  return store;
}

async function put(store: RevisionedStore, key: string): Promise<void> {
  const operations = [{ type: "put" as const, key, value: Buffer.from(`value of ${key}`) }];
  await store.commit({ compares: [], operations }, signal);
}

function openWatch(store: RevisionedStore) {
  const watch = store.watch({ prefix: "", after: toRevision(0) }, signal);
  return watch[Symbol.asyncIterator]();
}

type Watch = ReturnType<typeof openWatch>;

async function nextOf(watch: Watch): Promise<readonly StoreEvent[]> {
  const { done, value } = await watch.next();
  equal(done, false);
  return value.events;
}

const keysOf = (events: readonly StoreEvent[]) =>
  events.map((event) => (event.type === "put" ? event.kv.key : event.key));

describe("events in memory", () => {
  it("are forgotten once every watch has them", async (test) => {
    const store = await storeFor(test);
    const watch = openWatch(store);
    const given: WeakRef<StoreEvent>[] = [];
    for (let count = 0; count < EVENTS; count++) {
      const asked = nextOf(watch);
      await put(store, `key-${count}`);
      for (const event of await asked) given.push(new WeakRef(event));
    }
    equal(given.length, EVENTS);
    collectGarbage();
    const remembered = given.filter((event) => event.deref() !== undefined).length;
    ok(remembered <= UNDER_WAY_MAX, `${remembered} of ${EVENTS} events are in memory`);
  });

  it("reach a watch that asks for them later", async (test) => {
    const store = await storeFor(test);
    const [fast, slow] = [openWatch(store), openWatch(store)];
    for (const key of ["first", "second", "third"]) {
      const asked = nextOf(fast);
      await put(store, key);
      deepEqual(keysOf(await asked), [key]);
    }
    deepEqual(keysOf(await nextOf(slow)), ["first", "second", "third"]);
  });
});
