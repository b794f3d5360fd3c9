/** The embedded store without room: its quota, and a disk that is full. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "../../e2e/harness/eventually.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { temporaryDirectory } from "../base/testing/temporary-directory.js";
import { StorageError } from "../kv/errors.js";
import type { Operation } from "../kv/store.js";
import { CommitQueue } from "./commit-queue.js";
import { Damage } from "./damage.js";
import { openDatabase } from "./database.js";
import { type EmbeddedStore, openEmbeddedStore } from "./embedded-store.js";
import { prepareTransaction } from "./prepare-transaction.js";
import { StoreSpace } from "./store-space.js";

const signal = new AbortController().signal;
const MIB = 1024 * 1024;

function put(key: string, bytes: number): Operation {
  return { type: "put", key, value: Buffer.alloc(bytes, 97) };
}

async function commit(store: EmbeddedStore, operation: Operation): Promise<void> {
  await store.commit({ compares: [], operations: [operation] }, signal);
}

/** Writes until the store refuses. @returns how many were taken */
async function fill(store: EmbeddedStore): Promise<number> {
  for (let written = 0; ; written++) {
    try {
      await commit(store, put(`/fill/${written}`, 200_000));
    } catch (error) {
      assert.ok(error instanceof StorageError);
      assert.deepEqual([error.code, error.outcomeUnknown], ["NoSpace", false]);
      assert.match(error.message, /database space exceeded/);
      return written;
    }
  }
}

test("H-damage: beyond its quota the store takes deletes alone, until compaction has made room", async (t) => {
  const directory = await temporaryDirectory(t);
  const options = { directory, clock: systemClock, logger: silentLogger, quotaBytes: 8 * MIB };
  await using store = await openEmbeddedStore(options);
  const written = await fill(store);
  assert.ok(written > 30 && written < 48, `${written}`);
  assert.equal(store.space.shortage, "quota");
  assert.ok(store.space.size.usedBytes < 10 * MIB);
  for (let index = 0; index < written; index += 2) {
    await commit(store, { type: "delete", key: `/fill/${index}` });
  }
  const { kvs } = await store.range({ prefix: "/fill/" }, signal);
  assert.equal(kvs.length, Math.floor(written / 2));
  await assert.rejects(commit(store, put("/fill/x", 200_000)), { code: "NoSpace" });
  await store.compact(await store.currentRevision(signal), signal);
  assert.equal(store.space.shortage, "none");
  await commit(store, put("/fill/x", 200_000));
});

test("H-damage: a store that is over its quota when it is opened is full from the start", async (t) => {
  const directory = await temporaryDirectory(t);
  const options = { directory, clock: systemClock, logger: silentLogger };
  {
    await using store = await openEmbeddedStore(options);
    for (let index = 0; index < 10; index++) await commit(store, put(`/${index}`, 200_000));
  }
  await using store = await openEmbeddedStore({ ...options, quotaBytes: MIB });
  await assert.rejects(commit(store, put("/more", 10)), { code: "NoSpace" });
  await commit(store, { type: "delete", key: "/1" });
});

test("H-damage: on a full disk puts are refused, and deletes of the same group take the reserve", async (t) => {
  const directory = await temporaryDirectory(t);
  const database = openDatabase(directory, new Damage(silentLogger));
  t.after(() => database.root.close());
  const options = { directory, database, quotaBytes: 0, clock: systemClock, logger: silentLogger };
  const space = new StoreSpace(options);
  const stopped = new AbortController();
  const kept = space.run(stopped.signal);
  const reserve = join(directory, "reserve");
  await eventually("the reserve is there", async () => await stat(reserve));
  stopped.abort();
  await kept;

  const queue = new CommitQueue({
    database,
    space,
    isLeaseAlive: () => true,
    publish() {},
    publishUnknown: (reason) => assert.fail(String(reason)),
  });
  const run = (...operations: Operation[]) =>
    queue.commit(prepareTransaction({ compares: [], operations }), signal);
  await run(put("/a", 100), put("/b", 100));
  // A disk that is full while the reserve is there.
  const { batch } = database.root;
  const isReserved = () =>
    stat(reserve).then(
      () => true,
      () => false,
    );
  database.root.batch = (async (...args: Parameters<typeof batch>) => {
    if (await isReserved()) throw new Error("No space left on device");
    return await batch.apply(database.root, args);
  }) as typeof batch;
  const [refused, deleted] = await Promise.allSettled([
    run(put("/c", 100)),
    run({ type: "delete", key: "/a" }),
  ]);
  assert.equal(deleted?.status, "fulfilled");
  assert.ok(refused?.status === "rejected");
  const { code, outcomeUnknown, message } = refused.reason as StorageError;
  assert.deepEqual([code, outcomeUnknown, message], ["NoSpace", false, "the disk is full"]);
  assert.equal(space.shortage, "disk");
  assert.equal(await isReserved(), false);
  assert.equal(database.current.get("/a"), undefined);
  assert.equal(database.current.get("/c"), undefined);
  // With room again all is as before.
  await run(put("/c", 100));
  assert.equal(space.shortage, "none");
  await queue.close();
});

test("H-damage: a new directory on a full disk is refused with one sentence", async (t) => {
  const directory = await temporaryDirectory(t);
  const reader = fileURLToPath(new URL("./testing/read-all.js", import.meta.url));
  const mount = `mount -t tmpfs -o size=512k none ${directory}`;
  const onItsDisk = (command: string) => spawnSync("unshare", ["-m", "sh", "-c", command]);
  const { status, stderr: why } = onItsDisk(mount);
  if (status !== 0) return t.skip(`no disk can be mounted here: ${why}`);
  const { signal, stderr } = onItsDisk(
    `${mount} && exec ${process.execPath} ${reader} ${directory}`,
  );
  assert.equal(signal, null);
  assert.match(stderr.toString(), /the disk is full: no store can be made in /);
  assert.equal(stderr.toString().trim().split("\n").length, 1);
});
