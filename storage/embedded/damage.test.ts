/** Damage of the embedded store's files: flipped bits, lost files, stores from before checksums. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { silentLogger } from "../base/logger.js";
import { temporaryDirectory } from "../base/testing/temporary-directory.js";
import { toRevision } from "../kv/store.js";
import { unreadableReason } from "../kv/unreadable.js";
import { DAMAGED_VALUE, Damage } from "./damage.js";
import { openDatabase } from "./database.js";
import { commit, openStore, put } from "./testing/store-on-disk.js";

const { signal } = new AbortController();
const readerPath = fileURLToPath(new URL("./testing/read-all.js", import.meta.url));

/** Numbers from 0 to 1 that only depend on the seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function textOf(index: number): string {
  // Some lie on pages of their own.
  return `value ${index} `.repeat(index % 20 === 0 ? 2000 : 40);
}

async function flipIn(path: string, position: number, bit: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[position] = (bytes[position] ?? 0) ^ (1 << bit);
  await writeFile(path, bytes);
}

test("H-damage: random bit flips never change a value silently", async (t) => {
  const directory = await temporaryDirectory(t);
  {
    await using store = await openStore(join(directory, "sound"));
    for (let index = 0; index < 300; index += 10) {
      const group = Array.from({ length: 10 }, (_, at) => index + at);
      await commit(store, ...group.map((at) => put(`/v/${at}`, textOf(at))));
    }
  }
  let found = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const copy = join(directory, `copy-${seed}`);
    await cp(join(directory, "sound"), copy, { recursive: true });
    const path = join(copy, "store.mdb");
    const random = randomFrom(seed * 7919);
    const bytes = await readFile(path);
    for (let flips = 0; flips < 10; flips++) {
      // Behind the meta pages, whose damage is found when the store is opened.
      const position = 16_384 + Math.floor(random() * (bytes.length - 16_384));
      bytes[position] = (bytes[position] ?? 0) ^ (1 << Math.floor(random() * 8));
    }
    await writeFile(path, bytes);
    const { stdout } = spawnSync(process.execPath, [readerPath, copy], { timeout: 20_000 });
    for (const line of stdout.toString().split("\n").filter(Boolean)) {
      const [key, text] = JSON.parse(line) as [string, string];
      if (text === DAMAGED_VALUE) found++;
      else assert.equal(text, textOf(Number(key.slice(3))), `seed ${seed}: ${key}`);
    }
    await rm(copy, { recursive: true });
  }
  assert.ok(found > 0);
});

test("H-damage: a damaged value costs its object only, which can be deleted and written anew", async (t) => {
  const directory = await temporaryDirectory(t);
  const path = join(directory, "store.mdb");
  let first = toRevision(0);
  {
    await using store = await openStore(directory);
    first = await commit(store, put("/a", "sound one"), put("/b", "to be damaged"), put("/c", "x"));
  }
  const bytes = await readFile(path);
  let position = bytes.indexOf("to be damaged");
  while (position >= 0) {
    await flipIn(path, position, 3);
    position = bytes.indexOf("to be damaged", position + 1);
  }
  await using store = await openStore(directory);
  const { kvs } = await store.range({ prefix: "/" }, signal);
  assert.deepEqual(
    kvs.map(({ key, value }) => [key, unreadableReason(value) ?? value.toString()]),
    [
      ["/a", "sound one"],
      ["/b", DAMAGED_VALUE],
      ["/c", "x"],
    ],
  );
  const { kv } = await store.get("/b", {}, signal);
  assert.equal(unreadableReason(kv?.value ?? Buffer.alloc(0)), DAMAGED_VALUE);
  assert.ok(store.damage.found >= 2);
  const compares = [{ key: "/b", modRevision: kv?.modRevision ?? first }];
  const operations = [{ type: "delete", key: "/b" }] as const;
  assert.equal((await store.commit({ compares, operations }, signal)).succeeded, true);
  // What was damaged is so in the history, too.
  const then = await store.get("/b", { revision: first }, signal);
  assert.equal(unreadableReason(then.kv?.value ?? Buffer.alloc(0)), DAMAGED_VALUE);
  await commit(store, put("/b", "anew"));
  assert.equal((await store.get("/b", {}, signal)).kv?.value.toString(), "anew");
});

test("H-damage: an embedded store that was lost or emptied is refused, with what to do", async (t) => {
  const directory = await temporaryDirectory(t);
  await (await openStore(directory))[Symbol.asyncDispose]();
  const refusal = {
    code: "Refused",
    message: /has lost its store: .*store\.mdb is missing or empty.*backup.*remove/,
  };
  await truncate(join(directory, "store.mdb"), 0);
  await assert.rejects(openStore(directory), refusal);
  await rm(join(directory, "store.mdb"));
  await assert.rejects(openStore(directory), refusal);
});

test("H-damage: a directory in the place of a file of the store is named", async (t) => {
  for (const file of ["owner.mdb", "store.mdb"]) {
    const directory = await temporaryDirectory(t);
    await mkdir(join(directory, file));
    const refusal = { code: "Refused", message: new RegExp(`${join(directory, file)} is no file`) };
    await assert.rejects(openStore(directory), refusal);
  }
});

test("H-damage: a damaged record of the log ends watches that need it as if it were compacted", async (t) => {
  const directory = await temporaryDirectory(t);
  let first = toRevision(0);
  {
    await using store = await openStore(directory);
    first = await commit(store, put("/a", "1"));
    await commit(store, put("/odd-name-in-the-log", "2"));
    await commit(store, put("/b", "3"));
  }
  const database = openDatabase(directory, new Damage(silentLogger));
  await database.root.transaction(() => {
    const record = database.log.get(first + 1) ?? Buffer.alloc(8);
    record[6] = (record[6] ?? 0) ^ 1;
    void database.log.put(first + 1, record);
  });
  await database.root.close();
  await using store = await openStore(directory);
  const watch = store.watch({ prefix: "/", after: first }, signal)[Symbol.asyncIterator]();
  await assert.rejects(watch.next(), { code: "Compacted" });
  const later = store.watch({ prefix: "/", after: toRevision(first + 1) }, signal);
  const { value } = await later[Symbol.asyncIterator]().next();
  assert.equal(value?.events.length, 1);
});

test("H-damage: a store that was cut anywhere is refused, unless all of it is there", async (t) => {
  const directory = await temporaryDirectory(t);
  const sound = join(directory, "sound");
  {
    await using store = await openStore(sound);
    for (let index = 0; index < 300; index += 10) {
      const group = Array.from({ length: 10 }, (_, at) => index + at);
      await commit(store, ...group.map((at) => put(`/v/${at}`, textOf(at))));
    }
  }
  const whole = await readFile(join(sound, "store.mdb"));
  const read = async (bytes: Buffer) => {
    await writeFile(join(sound, "store.mdb"), bytes);
    const { stdout, stderr, signal } = spawnSync(process.execPath, [readerPath, sound]);
    return { signal, stderr: stderr.toString(), lines: stdout.toString().split("\n").length - 1 };
  };
  const everything = { signal: null, stderr: "", lines: 300 };
  for (let pages = 2; pages < whole.length / 8192; pages += 17) {
    const { signal, stderr, lines } = await read(whole.subarray(0, pages * 8192));
    const refused = /is damaged: .*store\.mdb is cut short/;
    assert.equal(signal, null, `${pages} pages`);
    if (lines < 300) assert.match(stderr, refused, `${pages} pages`);
  }
  // A free page behind the end, as lmdb leaves it.
  const last = [144, 8192 + 144];
  for (const at of last) whole.writeBigUInt64LE(whole.readBigUInt64LE(at) + 3n, at);
  assert.deepEqual(await read(whole), everything);
});

test("H-damage: a page of a table that was wiped is named, and ends no process with a signal", async (t) => {
  const directory = await temporaryDirectory(t);
  {
    await using store = await openStore(directory);
    for (let index = 0; index < 12; index++) await commit(store, put(`/v/${index}`, textOf(index)));
  }
  const path = join(directory, "store.mdb");
  const whole = await readFile(path);
  let named = 0;
  for (let page = 2; page < whole.length / 8192; page++) {
    const wiped = Buffer.from(whole).fill(page % 2 === 0 ? 0 : 255, page * 8192, (page + 1) * 8192);
    await writeFile(path, wiped);
    const { stderr, signal } = spawnSync(process.execPath, [readerPath, directory]);
    assert.equal(signal, null, `page ${page}`);
    if (stderr.toString().includes(`page ${page} of ${path} is unreadable`)) named++;
  }
  assert.ok(named > 0);
});

test("H-damage: a changed key, which would hide others, is refused", async (t) => {
  const directory = await temporaryDirectory(t);
  {
    await using store = await openStore(directory);
    await commit(store, put("/a/1", "x"), put("/a/2", "x"), put("/b/1", "x"));
  }
  const path = join(directory, "store.mdb");
  await flipIn(path, (await readFile(path)).lastIndexOf("/a/2") + 1, 4);
  await assert.rejects(openStore(directory), {
    code: "Refused",
    message: /is damaged: the key "\/b\/1" is not where it belongs; put it back from a backup/,
  });
});
