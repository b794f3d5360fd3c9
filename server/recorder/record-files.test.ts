/** The recorder's directory: what it holds is read again, it is bounded, and a disk that fails stops nobody. */
import assert from "node:assert/strict";
import { appendFile, chmod, mkdir, readdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { systemClock } from "../../storage/base/clock.js";
import { type Logger, silentLogger } from "../../storage/base/logger.js";
import { ByteRing } from "./byte-ring.js";
import { DELIVERY_NUMBERS, DeliveryRing } from "./delivery-ring.js";
import type { KeptRead, KeptWrite } from "./kept.js";
import { cursorOf } from "./record-batch.js";
import { RecordDirectory } from "./record-directory.js";
import { RecordFiles } from "./record-files.js";
import { type Restored, Restoring } from "./restored.js";

const client = { id: "abc-c1", user: "jane", agent: "kubectl/v1", address: "10.0.0.1" };
const MANY = 1_000_000;

function writeOf(number: number, changes: Partial<KeptWrite> = {}): KeptWrite {
  return {
    ...{ client, connection: 1, number, revision: number + 100, previousRevision: 0, base: 0 },
    ...{ atMs: 1_000 + number, receivedAtMs: 1_000 + number, verb: "update", group: "" },
    ...{ version: "v1", resource: "configmaps", subresource: "", namespace: "default" },
    ...{ name: `map-${number}`, uid: `uid-${number}`, owners: [], fieldManager: "kubectl" },
    ...{ outcome: "changed", status: 200, reason: "", changedPaths: ["data.a"], morePaths: false },
    causes: [],
    ...changes,
  };
}

function readOf(number: number, changes: Partial<KeptRead> = {}): KeptRead {
  return {
    ...{ client, connection: 1, number, verb: "watch", group: "", resource: "configmaps" },
    ...{ namespace: "", name: "", selector: "", atMs: 1_000, from: 100, endedAtMs: undefined },
    ...{ upTo: 0, upToAtMs: 0, events: 0, status: 200 },
    ...changes,
  };
}

interface Keeping {
  readonly writes: ByteRing<KeptWrite>;
  readonly reads: ByteRing<KeptRead>;
  readonly deliveries: DeliveryRing;
  readonly files: RecordFiles;
  readonly directory: RecordDirectory;
}

interface KeepingOptions {
  readonly bytesMax?: number;
  /** Of the memory. */
  readonly heldBytesMax?: number;
  readonly logger?: Logger;
}

function keepIn(t: TestContext, path: string, options: KeepingOptions = {}): Keeping {
  const { bytesMax = MANY, heldBytesMax = MANY, logger = silentLogger } = options;
  const source = {
    writes: new ByteRing<KeptWrite>(heldBytesMax),
    reads: new ByteRing<KeptRead>(heldBytesMax),
    deliveries: new DeliveryRing(MANY),
  };
  const directory = new RecordDirectory(path, bytesMax);
  t.after(() => directory.close());
  const files = new RecordFiles({
    ...{ directory, source, replica: "abc", store: "one", from: cursorOf(source) },
    ...{ clock: systemClock, logger },
  });
  return { ...source, files, directory };
}

async function restore(path: string): Promise<Restored> {
  const directory = new RecordDirectory(path, MANY);
  const restoring = new Restoring();
  await directory.list();
  await directory.read(
    (text) => restoring.add(text),
    (error) => assert.fail(String(error)),
  );
  return restoring.end();
}

async function makeDir(t: TestContext): Promise<string> {
  const dir = await makeTempDir("records");
  t.after(() => dir[Symbol.asyncDispose]());
  return dir.path;
}

/** Tells the lines of a log. */
function tellTo(lines: string[]): Logger {
  const tell = (_fields: object, message: string) => void lines.push(message);
  return { ...silentLogger, info: tell, warn: tell };
}

test("#46 what was kept is read again: writes, watches with their ends, deliveries, numbers that are taken", async (t) => {
  const path = await makeDir(t);
  const { writes, reads, deliveries, files, directory } = keepIn(t, path);
  const [open, ended] = [readOf(1), readOf(2)];
  for (const read of [open, ended]) reads.push(read, 1);
  writes.push(writeOf(1), 1);
  deliveries.push(1, 101, 1_005);
  await files.pass();
  ended.endedAtMs = 1_007;
  ended.events = 3;
  writes.push(writeOf(7), 1);
  deliveries.push(1, 107, 1_011);
  await files.pass();
  await directory.close();

  const restored = await restore(path);
  assert.equal(restored.replica, "abc");
  assert.equal(restored.store, "one");
  assert.deepEqual(restored.writes, [writeOf(1), writeOf(7)]);
  const delivered = { events: 2, upTo: 107, upToAtMs: 1_011 };
  assert.deepEqual(restored.reads, [
    { ...open, ...delivered, endedAtMs: 1_011 },
    { ...ended, events: 3, endedAtMs: 1_007 },
  ]);
  const numbers = restored.deliveries.flatMap((each) => [...each]);
  assert.deepEqual(numbers, [1, 101, 1_005, 1, 107, 1_011]);
  assert.ok(restored.numbersTaken > 7);
  assert.equal(restored.damaged, 0);
});

test("#46 each file stands for itself: a watch that was opened in one that is gone is told again", async (t) => {
  const path = await makeDir(t);
  const { writes, reads, deliveries, files } = keepIn(t, path, { bytesMax: 10_000 });
  reads.push(readOf(1), 1);
  for (let number = 1; number <= 150; number++) {
    writes.push(writeOf(number), 1);
    deliveries.push(1, 100 + number, 1_000 + number);
    if (number % 10 === 0) await files.pass();
    const names = await readdir(path);
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes <= 10_000, `${bytes} bytes after ${number} writes`);
  }
  const restored = await restore(path);
  assert.ok(restored.writes.length < 150 && restored.writes.length > 10);
  assert.deepEqual(restored.writes.at(-1), writeOf(150));
  assert.deepEqual(
    restored.reads.map(({ number, upTo }) => [number, upTo]),
    [[1, 250]],
  );
  const [first] = restored.deliveries;
  assert.ok(first !== undefined && first.length % DELIVERY_NUMBERS === 0);
});

test("#46 a damaged tail, a damaged line and a file of another form are left out, the rest is read", async (t) => {
  const path = await makeDir(t);
  const first = keepIn(t, path);
  first.writes.push(writeOf(1), 1);
  first.writes.push(writeOf(2), 1);
  await first.files.pass();
  await first.directory.close();
  const [name = ""] = await readdir(path);
  const file = join(path, name);
  await truncate(file, (await stat(file)).size - 20);
  await appendFile(join(path, "0000000002.records"), "no line of ours\n\n{}\n");
  const second = keepIn(t, path);
  await second.directory.list();
  second.writes.push(writeOf(3), 1);
  await second.files.pass();
  await second.directory.close();

  const restored = await restore(path);
  assert.deepEqual(restored.writes, [writeOf(1), writeOf(3)]);
  assert.equal(restored.damaged, 3);
});

test("#46 files are for their owner alone, whatever the mask says", async (t) => {
  const path = join(await makeDir(t), "made", "here");
  const mask = process.umask(0);
  t.after(() => process.umask(mask));
  const { writes, files } = keepIn(t, path);
  writes.push(writeOf(1), 1);
  await files.pass();
  const [name = ""] = await readdir(path);
  assert.equal((await stat(join(path, name))).mode & 0o777, 0o600);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
});

test("#46 a directory that takes nothing is told once; what had to go meanwhile is counted, the rest arrives later", async (t) => {
  const path = join(await makeDir(t), "records");
  // A file stands where the directory should be, which stops root too.
  await appendFile(path, "");
  const told: string[] = [];
  const { writes, files } = keepIn(t, path, { heldBytesMax: 10, logger: tellTo(told) });
  for (let number = 1; number <= 15; number++) {
    writes.push(writeOf(number), 1);
    await files.pass();
  }
  assert.deepEqual(told, [
    "the directory of --record takes no records: they stay in memory as long as there is room",
  ]);
  assert.equal(files.dropped, 0);
  await rm(path);
  await files.pass();
  assert.equal(files.dropped, 5);
  assert.deepEqual(told.slice(1), ["the directory of --record takes records again"]);
  const { writes: restored } = await restore(path);
  assert.deepEqual(
    restored.map(({ number }) => number),
    [6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  );
});

test("#46 a write that a full disk broke off is overwritten by the next one", async (t) => {
  const path = await makeDir(t);
  const { writes, files, directory } = keepIn(t, path);
  writes.push(writeOf(1), 1);
  await files.pass();
  // As a disk that takes a half: the file is longer than what counts.
  const [name = ""] = await readdir(path);
  await appendFile(join(path, name), "a half of a line that was broken off");
  writes.push(writeOf(2), 1);
  await files.pass();
  await directory.close();
  assert.deepEqual((await restore(path)).writes, [writeOf(1), writeOf(2)]);
});

test("#46 many deliveries leave room for writes, and those without room are counted", async (t) => {
  const path = await makeDir(t);
  const { reads, deliveries, writes, files } = keepIn(t, path);
  reads.push(readOf(1), 1);
  for (let count = 0; count < 4_000; count++) deliveries.push(1, 100, 1_000);
  writes.push(writeOf(1), 1);
  await files.pass();
  const restored = await restore(path);
  const kept = restored.deliveries.reduce((sum, each) => sum + each.length / DELIVERY_NUMBERS, 0);
  assert.ok(kept < 2_500 && kept > 1_000, `${kept}`);
  assert.equal(files.dropped, 4_000 - kept);
});

test("#46 an unreadable file is left out, and the others are read", async (t) => {
  const path = await makeDir(t);
  const { writes, files, directory } = keepIn(t, path);
  writes.push(writeOf(1), 1);
  await files.pass();
  await directory.close();
  await mkdir(join(path, "0000000000.records"));
  await chmod(join(path, "0000000000.records"), 0o700);
  const listed = new RecordDirectory(path, MANY);
  const texts: string[] = [];
  const problems: unknown[] = [];
  await listed.list();
  await listed.read(
    (text) => texts.push(text),
    (error) => problems.push(error),
  );
  assert.equal(texts.length, 1);
  assert.equal(problems.length, 1);
  assert.match(String(await readFile(join(path, "0000000001.records"))), /map-1/);
});
