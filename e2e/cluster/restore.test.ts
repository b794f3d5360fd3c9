/**
 * A backup of etcd is put back while replicas and clients go on: what was written after it is gone, and
 * nobody may be left with it. With the revision bumped, as etcd advises, that holds for every client; a
 * plain restore is noticed by replicas that have seen more than it holds.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cluster, type Replica, startCluster } from "../consistency/cluster.js";
import { eventually } from "../harness/eventually.js";
import type { WatchEvent } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Reflector } from "../reads/reflector.js";

const NAMESPACE = "restored";
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

/** One installation for all tests of this file. */
const shared: { cluster?: Cluster } = {};

before(async () => {
  const etcdMembers = isLong ? 3 : 1;
  shared.cluster = await startCluster({ store: "etcd", replicas: 2, etcdMembers });
  const client = theReplicas()[0]?.client;
  (await client?.post("/api/v1/namespaces", { metadata: { name: NAMESPACE } }))?.expect(201);
});
after(async () => {
  await shared.cluster?.[Symbol.asyncDispose]();
});

test("CARD-09: a restored, older etcd is noticed: watches end with 410, consistent reads are of the backup", async (t) => {
  await using folder = await makeTempDir("backup");
  const [first, second] = theReplicas();
  await write(first, "plain", 5);
  const watches = await Promise.all([first, second].map(openWatch));
  const backup = await save(folder.path);
  await write(first, "plain-lost", 20);
  const begunAtMs = performance.now();
  await theAdmin().restore(join(folder.path, "backup"));
  for (const replica of theReplicas()) {
    const state = await eventually("a consistent list is answered", () => stateOf(replica));
    assert.deepEqual(state, backup);
  }
  t.diagnostic(
    `noticed everywhere ${Math.round(performance.now() - begunAtMs)} ms after the end of etcd`,
  );
  for (const watch of watches) assert.equal((await watch.lastEvent).object.code, 410);
});

test("CARD-09: after a restore with a bumped revision no client keeps a state that never was, whatever it had seen and whoever was restarted", async (t) => {
  await using folder = await makeTempDir("backup");
  const replicas = theReplicas();
  const [first, second] = replicas;
  await write(first, "kept", 5);
  let turn = 0;
  const next = () => (replicas[turn++ % replicas.length] as Replica).client;
  const reflectors = [false, true, false, true].map(
    (isStreaming) => new Reflector({ path: PATH, next, isStreaming }),
  );
  await Promise.all(reflectors.map((reflector) => reflector.start()));
  await save(folder.path);
  await write(first, "kept", 3);
  await write(second, "lost", 10);
  const lost = await stateOf(first);
  for (const reflector of reflectors) {
    await eventually("all is seen", () => isSame(reflector, lost));
  }
  await second.kill();
  await theAdmin().restore(join(folder.path, "backup"), { bumpRevision: true });
  second.start();
  for (const replica of replicas) await replica.waitUntilReady();
  // As many as were lost: by their numbers alone nobody could tell the two histories apart.
  await write(first, "new", 13);
  const now = await eventually("the new state is answered", () => stateOf(first));
  assert.deepEqual(
    Object.keys(now).filter((name) => name.startsWith("lost")),
    [],
  );
  for (const reflector of reflectors) {
    await eventually("everybody has the new state", () => isSame(reflector, now));
    assert.ok(reflector.relists > 0);
    await reflector.stop();
  }
  t.diagnostic(`relists: ${reflectors.map(({ relists }) => relists)}`);
});

function theReplicas(): readonly [Replica, Replica] {
  const [first, second] = shared.cluster?.replicas ?? [];
  if (first === undefined || second === undefined) throw new Error("the replicas have not started");
  return [first, second];
}

function theAdmin() {
  const admin = shared.cluster?.etcdAdmin;
  if (admin === undefined) throw new Error("etcd has not started");
  return admin;
}

/** Into "backup" of the folder; gives the state that is in it. */
async function save(folder: string): Promise<Record<string, number>> {
  await theAdmin().saveSnapshot(join(folder, "backup"));
  return await stateOf(theReplicas()[0]);
}

/** Makes or changes as many objects. */
async function write({ client }: Replica, name: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const body = { metadata: { name: `${name}-${index}` }, data: { at: String(Date.now()) } };
    const made = await client.post(PATH, body);
    if (made.status === 409) (await client.put(`${PATH}/${name}-${index}`, body)).expect(200);
    else made.expect(201);
  }
}

/** Versions by name, as a consistent list says. @throws {AssertionError} it is refused */
async function stateOf({ client }: Replica): Promise<Record<string, number>> {
  const { items } = (await client.get(PATH)).expect(200);
  return Object.fromEntries(
    items.map(({ metadata }) => [metadata.name ?? "", Number(metadata.resourceVersion)]),
  );
}

function isSame(reflector: Reflector, state: Readonly<Record<string, number>>): boolean {
  const held = Object.fromEntries([...reflector.store].sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify(held) === JSON.stringify(state);
}

async function openWatch({ client }: Replica): Promise<{ lastEvent: Promise<WatchEvent> }> {
  const events = await client.watch(`${PATH}?watch=1`);
  const read = async () => {
    let last: WatchEvent | undefined;
    for await (const event of events) last = event;
    if (last === undefined) throw new Error("the watch ended without an event");
    return last;
  };
  return { lastEvent: read() };
}
