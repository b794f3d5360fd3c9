/** Stores that were written before records had checksums get them, however often that is interrupted. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { silentLogger } from "../base/logger.js";
import { temporaryDirectory } from "../base/testing/temporary-directory.js";
import { toRevision } from "../kv/store.js";
import { Damage } from "./damage.js";
import { FORMAT_VERSION, formatOf, openDatabase } from "./database.js";
import { commit, openStore, put } from "./testing/store-on-disk.js";
import { removeChecksums } from "./testing/without-checksums.js";

const { signal } = new AbortController();
const crashPath = fileURLToPath(new URL("./testing/crash-conversion.js", import.meta.url));

/** 2,500 keys, some with a history, one with a lease. */
async function writeOldStore(directory: string) {
  let first = toRevision(0);
  let last = toRevision(0);
  {
    await using store = await openStore(directory);
    const lease = await store.lease(60, signal);
    const value = Buffer.from("leased");
    first = await commit(store, { type: "put", key: "/leased", value, lease });
    for (let index = 0; index < 2500; index += 500) {
      const group = Array.from({ length: 500 }, (_, at) => put(`/k/${index + at}`, `v${index}`));
      last = await commit(store, ...group);
    }
    last = await commit(store, put("/k/7", "again"), { type: "delete", key: "/k/8" });
  }
  await removeChecksums(directory);
  return { first, last };
}

type Written = Awaited<ReturnType<typeof writeOldStore>>;

async function holdsEverything(directory: string, { first, last }: Written): Promise<void> {
  await using store = await openStore(directory);
  assert.equal(await store.currentRevision(signal), last);
  const { kvs } = await store.range({ prefix: "/k/" }, signal);
  assert.equal(kvs.length, 2499);
  assert.equal((await store.get("/k/7", {}, signal)).kv?.value.toString(), "again");
  const before = await store.get("/k/8", { revision: toRevision(last - 1) }, signal);
  assert.equal(before.kv?.value.toString(), "v0");
  let seen = 0;
  for await (const { events, revision } of store.watch({ prefix: "/", after: first }, signal)) {
    seen += events.length;
    if (revision >= last) break;
  }
  assert.equal(seen, 2502);
  assert.equal(store.damage.found, 0);
}

test("H-damage: a store that was written before there were checksums opens and gets them", async (t) => {
  const directory = await temporaryDirectory(t);
  const written = await writeOldStore(directory);
  for (let round = 0; round < 2; round++) await holdsEverything(directory, written);
});

test("H-damage: a conversion killed in any of its steps goes on at the next start", async (t) => {
  const old = await temporaryDirectory(t);
  const written = await writeOldStore(old);
  for (let step = 1; ; step++) {
    const directory = await temporaryDirectory(t);
    await cp(old, directory, { recursive: true });
    const { stdout, signal: endedBy } = crashAt(directory, step, "before");
    if (stdout === "done") {
      // Chunks of several tables.
      assert.ok(step > 5, `${step} steps`);
      return;
    }
    assert.equal(endedBy, "SIGKILL");
    await holdsEverything(directory, written);
  }
});

test("H-damage: one killed after each of its steps, one start after another, ends", async (t) => {
  const directory = await temporaryDirectory(t);
  const written = await writeOldStore(directory);
  let starts = 1;
  while (crashAt(directory, 1, "after").stdout !== "done") {
    // A program that knows no checksums must not read what has some.
    const database = openDatabase(directory, new Damage(silentLogger));
    assert.equal(formatOf(database), FORMAT_VERSION);
    await database.root.close();
    starts++;
  }
  assert.ok(starts > 5, `${starts} starts`);
  await holdsEverything(directory, written);
});

function crashAt(directory: string, step: number, when: string) {
  const args = [crashPath, directory, String(step), when];
  return spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
}
