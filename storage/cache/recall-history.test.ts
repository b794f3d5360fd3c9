/** A view that is loaded from a real store tells what happened before, over many stretches of history. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { startEtcd } from "../../e2e/tools/etcd.js";
import { systemClock } from "../base/clock.js";
import { Lifecycle } from "../base/lifecycle.js";
import { silentLogger } from "../base/logger.js";
import { nextTurn } from "../base/next-turn.js";
import { openEmbeddedStore } from "../embedded/embedded-store.js";
import { openEtcdStore } from "../etcd/etcd-store.js";
import { SharedFeed } from "../kv/shared-feed.js";
import { type Operation, type Revision, type RevisionedStore, toRevision } from "../kv/store.js";
import { ObjectPatterns } from "../objects/object-patterns.js";
import { RegistryView } from "./registry-view.js";

const NAMES = 40;
/** Spans several stretches, and is not a multiple of their size. */
const COMMITS = 3_456;
const AT_A_TIME = 64;

// Deadlines do not keep a process alive.
const heartbeat = setInterval(() => {}, 1_000);
after(() => clearInterval(heartbeat));

function put(name: string, prefix = "/registry/"): Operation {
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name, namespace: "default" } };
  const key = `${prefix}core/configmaps/default/${name}`;
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
async function toldByStore(
  store: RevisionedStore,
  until: Revision,
  prefix = "/registry",
): Promise<string[]> {
  const told: string[] = [];
  const push = setInterval(() => store.requestProgress(), 20);
  try {
    const watch = { prefix, after: toRevision(0) };
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
async function toldByView(store: RevisionedStore, count: number): Promise<string[]> {
  await using lifecycle = new Lifecycle(silentLogger);
  const view = new RegistryView({
    store,
    prefix: "/registry",
    clock: systemClock,
    logger: silentLogger,
    traits: () => ({}),
  });
  await view.start(lifecycle, soon());
  view.recall.start(lifecycle);
  await view.recall.waitFor(toRevision(0), soon());
  return (await toldToWatch(view, toRevision(0), count)) ?? [];
}

/** A long history is told in many turns. */
const TURNS_MAX = 10_000;

/** The events that a watch from a revision gets, up to a number; undefined = it is told to list anew. */
async function toldToWatch(
  view: RegistryView,
  after: Revision,
  count: number,
): Promise<string[] | undefined> {
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
    after,
  );
  watcher?.resume();
  for (let turn = 0; turn < TURNS_MAX && told.length < count; turn++) await nextTurn();
  return watcher && told;
}

async function check(store: RevisionedStore): Promise<void> {
  const until = await fill(store);
  const expected = await toldByStore(store, until);
  assert.ok(expected.length > COMMITS - COMMITS / 97 - NAMES, "most commits are events");
  assert.deepEqual(await toldByView(store, expected.length), expected);
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

const PARTS = "/registry/.control-planes/";

/** A part of a store whose feed runs, and how often somebody asked the store for its history. */
async function openParts(store: RevisionedStore) {
  const counts = { histories: 0 };
  const counted = new Proxy(store, {
    get(target, name: keyof RevisionedStore) {
      if (name !== "watch") return target[name].bind(target);
      return (options: Parameters<RevisionedStore["watch"]>[0], signal: AbortSignal) => {
        if (options.withPrevious === true) counts.histories++;
        return target.watch(options, signal);
      };
    },
  });
  const feed = new SharedFeed({ store: counted, prefix: "/registry/", partsPrefix: PARTS });
  const lifecycle = new Lifecycle(silentLogger);
  const options = { clock: systemClock, logger: silentLogger, traits: () => ({}) };
  const root = new RegistryView({ store: feed.store, prefix: "/registry", ...options });
  await root.start(lifecycle, soon());
  const fresh = async () => {
    const revision = await store.currentRevision(soon());
    store.requestProgress();
    await root.waitForRevision(revision, soon());
    return revision;
  };
  const open = async (name: string) => {
    const part = feed.part(name, fresh);
    const small = { patterns: new ObjectPatterns(() => false), changed() {} };
    const view = new RegistryView({
      store: part,
      prefix: part.prefix.slice(0, -1),
      small,
      ...options,
    });
    await view.start(lifecycle, soon());
    view.recall.start(lifecycle);
    return view;
  };
  return { counts, lifecycle, open };
}

test("44: what happened in a control plane before it was loaded is told without the history of all others", async () => {
  const directory = await mkdtemp(join(tmpdir(), "keelson-recall-"));
  try {
    await using store = await openEmbeddedStore({
      directory,
      clock: systemClock,
      logger: silentLogger,
    });
    const commit = (...operations: Operation[]) =>
      store.commit({ compares: [], operations }, soon());
    const [shop, blog] = [`${PARTS}shop/`, `${PARTS}blog/`];
    await commit(put("early", shop));
    const { counts, lifecycle, open } = await openParts(store);
    const began = await store.currentRevision(soon());
    await commit(put("a", shop), put("b", shop));
    await commit(put("a", blog));
    const { revision: middle } = await commit(put("a", shop));
    await commit({ type: "delete", key: put("b", shop).key });
    await commit(put("early", shop), put("b", shop));
    const until = await store.currentRevision(soon());
    const expected = await toldByStore(store, until, shop);
    const view = await open("shop");
    // Who needs less comes first: what lies before is read for those who need it.
    for (const after of [until - 1, middle, began].map(toRevision)) {
      await view.recall.waitFor(after, soon());
      const later = expected.filter((text) => Number(text.split("@")[1]) > after);
      assert.deepEqual(await toldToWatch(view, after, later.length), later);
    }
    assert.equal(counts.histories, 0);
    await view.recall.waitFor(toRevision(0), soon());
    const all = await toldToWatch(view, toRevision(0), expected.length);
    assert.deepEqual(all, expected, "from before the feed began");
    assert.equal(counts.histories, 1);
    await lifecycle[Symbol.asyncDispose]();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
