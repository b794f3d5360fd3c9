/** A view that is loaded from a real store tells what happened before, over many stretches of history. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startEtcd } from "../../e2e/tools/etcd.js";
import { systemClock } from "../base/clock.js";
import { Lifecycle } from "../base/lifecycle.js";
import { silentLogger } from "../base/logger.js";
import { openEmbeddedStore } from "../embedded/embedded-store.js";
import { openEtcdStore } from "../etcd/etcd-store.js";
import { type Operation, type Revision, type RevisionedStore, toRevision } from "../kv/store.js";
import { RegistryView } from "./registry-view.js";

const NAMES = 40;
/** Spans several stretches, and is not a multiple of their size. */
const COMMITS = 3_456;
const AT_A_TIME = 64;

// Deadlines do not keep a process alive.
const heartbeat = setInterval(() => {}, 1_000);
after(() => clearInterval(heartbeat));

const soon = () => AbortSignal.timeout(60_000);

function put(name: string): Operation {
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name, namespace: "default" } };
  const key = `/registry/core/configmaps/default/${name}`;
  return { type: "put", key, value: Buffer.from(JSON.stringify(object)) };
}

/** Puts, deletions, batches of both, and writes outside the registry, which are no events here. */
function operationsOf(index: number): Operation[] {
  const name = `a${index % NAMES}`;
  const { key } = put(name);
  if (index % 97 === 0) return [{ type: "put", key: "/other/x", value: Buffer.from("x") }];
  if (index % 7 === 0) return [{ type: "delete", key }];
  if (index % 11 === 0) return [put(name), put(`b${index % NAMES}`)];
  return [put(name)];
}

async function fill(store: RevisionedStore): Promise<Revision> {
  let next = 0;
  const worker = async () => {
    while (next < COMMITS) {
      await store.commit({ compares: [], operations: operationsOf(next++) }, soon());
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return await store.currentRevision(soon());
}

/** The store's events, read by one watch from the beginning: "put a1@7". */
async function toldByStore(store: RevisionedStore, until: Revision): Promise<string[]> {
  const told: string[] = [];
  const push = setInterval(() => store.requestProgress(), 20);
  try {
    const watch = { prefix: "/registry", after: toRevision(0) };
    for await (const batch of store.watch(watch, soon())) {
      for (const event of batch.events) {
        const { key, modRevision } = event.type === "put" ? event.kv : event;
        told.push(`${event.type} ${key.split("/").at(-1)}@${modRevision}`);
      }
      if (batch.revision >= until) break;
    }
  } finally {
    clearInterval(push);
  }
  return told;
}

/** The events that a view recalls when it is loaded after all of them: "put a1@7". */
async function toldByView(store: RevisionedStore): Promise<string[]> {
  await using lifecycle = new Lifecycle(silentLogger);
  const view = new RegistryView({
    store,
    prefix: "/registry",
    clock: systemClock,
    logger: silentLogger,
    traits: () => ({}),
  });
  await view.start(lifecycle, soon());
  view.recall(lifecycle);
  await view.waitForHistory(toRevision(0), soon());
  const told: string[] = [];
  const watcher = view.partition("core/configmaps").watch(
    {
      scope: { namespace: "" },
      matches: () => true,
      sink: {
        send: (type, { state, revision }) =>
          told.push(`${type === "DELETED" ? "delete" : "put"} ${state.name}@${revision}`) > 0,
        cork() {},
        uncork() {},
        lost: assert.fail,
        ended: assert.fail,
      },
    },
    toRevision(0),
  );
  watcher?.resume();
  return told;
}

async function check(store: RevisionedStore): Promise<void> {
  const until = await fill(store);
  const expected = await toldByStore(store, until);
  assert.ok(expected.length > COMMITS - COMMITS / 97 - NAMES, "most commits are events");
  assert.deepEqual(await toldByView(store), expected);
}

test("S1-WATCH-10: all of etcd's history is told again, each event once and in order", async () => {
  const etcd = await startEtcd();
  try {
    const options = { endpoints: [etcd.endpoint], prefix: "/registry" };
    await using store = await openEtcdStore(
      { ...options, clock: systemClock, logger: silentLogger },
      soon(),
    );
    await check(store);
  } finally {
    await etcd.stop();
  }
});

test("S1-WATCH-10: all of the embedded store's history is told again, each event once and in order", async () => {
  const directory = await mkdtemp(join(tmpdir(), "keelson-recall-"));
  try {
    await using store = await openEmbeddedStore({
      directory,
      clock: systemClock,
      logger: silentLogger,
    });
    await check(store);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
