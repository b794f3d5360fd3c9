import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { systemClock } from "../../storage/base/clock.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { type AuditBackend, AuditBatch, type AuditMode } from "./audit-batch.js";
import { daysToMs, openAuditFile } from "./audit-file.js";

const SETTINGS = {
  mode: "batch" as AuditMode,
  bufferSize: 10_000,
  batchSizeMax: 400,
  batchBytesMax: 0,
  waitMsMax: 0,
  throttleQps: 0,
  throttleBurst: 0,
};

test("S2-REQ-09: records arrive in their order, all of them before the log is closed", async () => {
  const { batch, sent, counts } = openBatch({ batchSizeMax: 7 });
  for (let id = 0; id < 100; id++) void batch.write(`${id}`);
  await batch[Symbol.asyncDispose]();

  assert.deepEqual(
    sent.flat(),
    Array.from({ length: 100 }, (_, id) => `${id}`),
  );
  assert.ok(sent.every((lines) => lines.length <= 7));
  assert.deepEqual(counts, { recorded: 100, full: 0, failed: 0, large: 0 });
});

test("S2-REQ-09: 1,000,000 records through a backend that stalls, fails and comes back are counted exactly", async () => {
  const { batch, sent, counts, failures, backend } = openBatch({});
  const total = 1_000_000;
  for (let id = 0; id < total; id++) {
    const phase = Math.floor(id / 100_000);
    backend.isStalled = phase % 4 === 1;
    backend.isFailing = phase % 4 === 2;
    void batch.write("{}");
    // The backend gets its turns, as it does between requests.
    if (id % 500 === 0) await turn();
  }
  backend.isStalled = false;
  backend.isFailing = false;
  await batch[Symbol.asyncDispose]();

  assert.equal(counts.recorded + counts.full + counts.failed, total);
  assert.equal(sent.flat().length, counts.recorded);
  assert.ok(counts.recorded > 0 && counts.full > 0 && counts.failed > 0, JSON.stringify(counts));
  assert.ok(failures.length <= 10, "one message per outage");
});

test("blocking: a request waits for its record and hears what became of it", async () => {
  const { batch, backend } = openBatch({ mode: "blocking" });
  assert.equal(await batch.write("1"), true);
  backend.isFailing = true;
  assert.equal(await batch.write("2"), false);
  backend.isFailing = false;
  assert.equal(await batch.write("3"), true);
  await batch[Symbol.asyncDispose]();
  assert.equal(await batch.write("4"), false);
});

test("a batch waits for more up to its time, and goes at once when it is full", async () => {
  const clock = new ManualClock();
  const { batch, sent } = openBatch({ waitMsMax: 1000, batchSizeMax: 3 }, clock);
  void batch.write("1");
  await turn();
  assert.deepEqual(sent, []);
  await clock.advance(1000);
  await turn();
  assert.deepEqual(sent, [["1"]]);

  for (const line of ["2", "3", "4"]) void batch.write(line);
  await turn();
  assert.deepEqual(sent.at(-1), ["2", "3", "4"]);
});

test("a batch is no larger than its bound on bytes, unless a single record is", async () => {
  const { batch, sent } = openBatch({ batchBytesMax: 10 });
  for (const line of ["aaaa", "bbbb", "cccc", "d".repeat(30), "e"]) void batch.write(line);
  await batch[Symbol.asyncDispose]();

  assert.deepEqual(sent, [["aaaa", "bbbb"], ["cccc"], ["d".repeat(30)], ["e"]]);
});

test("calls are throttled: a burst at once, then so many a second", async () => {
  const clock = new ManualClock();
  const { batch, sent } = openBatch({ batchSizeMax: 1, throttleQps: 10, throttleBurst: 2 }, clock);
  for (let id = 0; id < 5; id++) void batch.write(`${id}`);
  await turn();
  assert.equal(sent.length, 2);
  await clock.advance(100);
  await turn();
  assert.equal(sent.length, 3);
});

test("a file is turned over at its bound, old ones are compressed, and removed beyond their number", async () => {
  const folder = await mkdtemp(join(tmpdir(), "audit-file-"));
  try {
    let nowMs = Date.parse("2030-01-02T03:04:05.000Z");
    const path = join(folder, "audit.log");
    const file = await openAuditFile({
      path,
      bytesMax: 25,
      backupsMax: 2,
      ageMsMax: 0,
      compresses: true,
      now: () => nowMs,
    });
    for (let id = 0; id < 10; id++) {
      await file.send([`{"id":"${id}"}`, `{"id":"${id}"}`]);
      nowMs += 1000;
    }
    await file[Symbol.asyncDispose]();

    const names = (await readdir(folder)).sort();
    assert.deepEqual(names, [
      "audit-2030-01-02T03-04-13.000.log.gz",
      "audit-2030-01-02T03-04-14.000.log.gz",
      "audit.log",
    ]);
    const old = gunzipSync(await readFile(join(folder, names[1] ?? ""))).toString();
    assert.equal(old, '{"id":"8"}\n{"id":"8"}\n');
    assert.equal(await readFile(path, "utf8"), '{"id":"9"}\n{"id":"9"}\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("old files are removed by the time in their names, whenever they were touched last", async () => {
  const folder = await mkdtemp(join(tmpdir(), "audit-age-"));
  try {
    const old = ["audit-2029-12-30T03-04-05.000.log", "audit-2029-12-30T03-04-05.000.log.gz"];
    const young = "audit-2030-01-01T12-00-00.000.log.gz";
    const strange = ["audit-2029.log", "other-2029-12-30T03-04-05.000.log"];
    for (const name of [...old, young, ...strange]) await writeFile(join(folder, name), "");
    const file = await openAuditFile({
      path: join(folder, "audit.log"),
      bytesMax: 10,
      backupsMax: 0,
      ageMsMax: daysToMs(2),
      compresses: false,
      now: () => Date.parse("2030-01-02T03:04:05.000Z"),
    });
    await file.send(["first line"]);
    await file.send(["second line"]);
    await file[Symbol.asyncDispose]();

    assert.deepEqual((await readdir(folder)).sort(), [
      "audit-2029.log",
      young,
      "audit-2030-01-02T03-04-05.000.log",
      "audit.log",
      "other-2029-12-30T03-04-05.000.log",
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("H-log: where no new file can be opened the old one goes on, and is turned over later", async () => {
  const folder = await mkdtemp(join(tmpdir(), "audit-stuck-"));
  try {
    const path = join(folder, "audit.log");
    let nowMs = Date.parse("2030-01-02T03:04:05.000Z");
    const options = { bytesMax: 10, backupsMax: 0, ageMsMax: 0, compresses: false };
    const file = await openAuditFile({ path, ...options, now: () => nowMs });
    await file.send(["line one"]);
    // The renamed file's name is a folder: the rename fails, and no line is lost.
    const blocked = join(folder, "audit-2030-01-02T03-04-06.000.log");
    await mkdir(blocked);
    nowMs += 1000;
    await file.send(["line two"]);
    // As after a rename whose new file could not be opened.
    await rename(path, join(folder, "audit-2030-01-02T03-04-07.000.log"));
    nowMs += 2000;
    await file.send(["line three"]);
    await file[Symbol.asyncDispose]();
    const old = await readFile(join(folder, "audit-2030-01-02T03-04-07.000.log"), "utf8");
    assert.equal(old, "line one\nline two\n");
    assert.equal(await readFile(path, "utf8"), "line three\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});

function openBatch(settings: Partial<typeof SETTINGS>, clock = systemClock as ManualClock) {
  const sent: string[][] = [];
  const counts = { recorded: 0, full: 0, failed: 0, large: 0 };
  const failures: unknown[] = [];
  const state = { isFailing: false, isStalled: false };
  const backend: AuditBackend = {
    name: "test",
    async send(lines) {
      while (state.isStalled) await turn();
      if (state.isFailing) throw new Error("the backend fails");
      sent.push([...lines]);
    },
    async [Symbol.asyncDispose]() {},
  };
  const batch = new AuditBatch({
    backend,
    settings: { ...SETTINGS, ...settings },
    clock,
    onOutcome(outcome, events) {
      counts[outcome] += events;
    },
    onFailure: (error) => failures.push(error),
  });
  return { batch, sent, counts, failures, backend: state };
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
