/**
 * The embedded store's guarantees beyond the contract: acknowledged commits survive kill -9, a
 * directory has one owner, leases and history outlive the process, compaction frees space.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { temporaryDirectory } from "../base/testing/temporary-directory.js";
import { StorageError } from "../kv/errors.js";
import type { Operation, Revision, RevisionedStore } from "../kv/store.js";
import { toRevision } from "../kv/store.js";
import { type EmbeddedStore, openEmbeddedStore } from "./embedded-store.js";

const signal = new AbortController().signal;
const writerPath = fileURLToPath(new URL("./testing/crash-writer.js", import.meta.url));

async function openStore(directory: string, clock: Clock = systemClock): Promise<EmbeddedStore> {
  return await openEmbeddedStore({ directory, clock, logger: silentLogger });
}

async function putText(store: RevisionedStore, key: string, text: string): Promise<Revision> {
  const operations = [{ type: "put", key, value: Buffer.from(text) }] as const;
  return (await store.commit({ compares: [], operations }, signal)).revision;
}

async function textOf(store: RevisionedStore, key: string, revision?: Revision) {
  const { kv } = await store.get(key, revision === undefined ? {} : { revision }, signal);
  return kv?.value.toString();
}

/** The smallest revision that has not been compacted. */
async function oldestReadable(store: RevisionedStore, current: Revision): Promise<Revision> {
  let [compacted, readable] = [0, current as number];
  while (compacted + 1 < readable) {
    const middle = Math.floor((compacted + readable) / 2);
    const isReadable = await textOf(store, "/none", toRevision(middle)).then(
      () => true,
      () => false,
    );
    if (isReadable) readable = middle;
    else compacted = middle;
  }
  return toRevision(readable);
}

/** Starts a writer in another process; collects the commits that it reports as acknowledged. */
function startWriter(t: TestContext, directory: string, round: number) {
  const child: ChildProcess = spawn(process.execPath, [writerPath, directory, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  assert.ok(child.stdout);
  const lines = createInterface({ input: child.stdout });
  const acknowledged: { key: string; revision: Revision }[] = [];
  let onLine: () => void = () => {};
  lines.on("line", (line) => {
    const [key = "", revision] = line.split(" ");
    acknowledged.push({ key, revision: toRevision(Number(revision)) });
    onLine();
  });
  return {
    child,
    acknowledged,
    reached: (count: number) =>
      new Promise<void>((resolve) => {
        onLine = () => acknowledged.length >= count && resolve();
        onLine();
      }),
    async kill() {
      const closed = once(lines, "close");
      child.kill("SIGKILL");
      await Promise.all([once(child, "exit"), closed]);
    },
  };
}

test("every acknowledged commit survives kill -9, again and again", async (t) => {
  const directory = await temporaryDirectory(t);
  const all = new Map<string, Revision>();
  let lastRevision = 0;
  for (let round = 0; round < 5; round++) {
    const writer = startWriter(t, directory, round);
    await writer.reached(300 + round * 101);
    await writer.kill();
    for (const { key, revision } of writer.acknowledged) {
      all.set(key, revision);
      lastRevision = Math.max(lastRevision, revision);
    }

    await using store = await openStore(directory);
    const current = await store.currentRevision(signal);
    assert.ok(current >= lastRevision);
    const { kvs, count } = await store.range({ prefix: "/w/" }, signal);
    const modRevisions = new Map(kvs.map((kv) => [kv.key, kv.modRevision]));
    // The last update of a key may have been written without its acknowledgement.
    for (const [key, revision] of all) assert.ok((modRevisions.get(key) ?? 0) >= revision, key);
    // Commits without an acknowledgement are complete, too.
    assert.equal(count, kvs.length);
    for (const { key, value } of kvs) assert.ok(value.toString().startsWith(`${key} `), key);
    assert.equal(kvs.filter(({ key }) => key.endsWith(".a")).length * 2, kvs.length);

    // The remaining history leads to the same state: log, history and current agree.
    const oldest = await oldestReadable(store, current);
    const then = await store.range({ prefix: "/w/", revision: oldest }, signal);
    const replayed = new Map(then.kvs.map((kv) => [kv.key, kv.modRevision]));
    for await (const batch of store.watch({ prefix: "/w/", after: oldest }, signal)) {
      for (const event of batch.events) {
        if (event.type === "put") replayed.set(event.kv.key, event.kv.modRevision);
        else replayed.delete(event.key);
      }
      if (batch.revision >= current) break;
    }
    assert.deepEqual([...replayed].sort(), [...modRevisions].sort());
    lastRevision = await putText(store, "/between", String(round));
    assert.equal(lastRevision, current + 1);
  }
});

test("a full disk refuses commits, loses none and harms nothing", async (t) => {
  const directory = await temporaryDirectory(t);
  // A limit on file size fails writes as a full disk does, for one process only.
  const limited = 'ulimit -f 6000 && exec "$0" "$@"';
  const child = spawn("sh", ["-c", limited, process.execPath, writerPath, directory, "0"]);
  t.after(() => child.kill("SIGKILL"));
  const [output, complaints] = [readAll(child.stdout), readAll(child.stderr)];
  const [status] = await once(child, "close");
  assert.equal(status, 1);
  // Fails for a while, and has certainly not committed: data pages are written before the meta
  // page.
  assert.match(await complaints, /^NoSpace: the disk is full$/m);

  await using store = await openStore(directory);
  const { kvs } = await store.range({ prefix: "/w/" }, signal);
  const modRevisions = new Map(kvs.map((kv) => [kv.key, kv.modRevision as number]));
  const acknowledged = (await output).split("\n").filter((line) => line !== "");
  assert.ok(acknowledged.length > 0);
  for (const line of acknowledged) {
    const [key = "", revision] = line.split(" ");
    assert.ok((modRevisions.get(key) ?? 0) >= Number(revision), line);
  }
  await putText(store, "/after", "goes on");
});

test("files that are no database, or the beginning of one, are Refused", async (t) => {
  const directory = await temporaryDirectory(t);
  {
    await using store = await openStore(directory);
    await putText(store, "/a", "b".repeat(50_000));
  }
  const damages: readonly [string, (path: string) => Promise<void>][] = [
    ["another file", (path) => writeFile(path, "hello\n".repeat(5_000))],
    ["a short one", (path) => writeFile(path, "hello")],
    ["zeros", (path) => writeFile(path, Buffer.alloc(65_536))],
    ["a part", (path) => truncate(path, 12_288)],
  ];
  for (const [what, damage] of damages) {
    const copy = await temporaryDirectory(t);
    await cp(directory, copy, { recursive: true });
    await damage(join(copy, "store.mdb"));
    const refusal = { code: "Refused", message: /damaged: .*store\.mdb / };
    await assert.rejects(openStore(copy), refusal, what);
  }
  await using store = await openStore(directory);
  assert.equal((await textOf(store, "/a"))?.length, 50_000);
});

async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("a second opener of a directory is Refused, in this process and in another", async (t) => {
  const directory = await temporaryDirectory(t);
  {
    await using store = await openStore(directory);
    await assert.rejects(openStore(directory), (error: unknown) => {
      assert.ok(error instanceof StorageError && error.code === "Refused");
      assert.match(error.message, /in use by this process/);
      return true;
    });
    await putText(store, "/a", "unharmed");

    const child = spawn(process.execPath, [writerPath, directory, "0"]);
    const complaints = readAll(child.stderr);
    const [status] = await once(child, "close");
    assert.equal(status, 1);
    const text = await complaints;
    assert.match(text, new RegExp(`Refused: .* is in use by process ${process.pid};`));
    assert.equal(await textOf(store, "/a"), "unharmed");
  }
  await using store = await openStore(directory);
  assert.equal(await textOf(store, "/a"), "unharmed");
});

test("an owner killed with -9 leaves no lock behind; a living one keeps it", async (t) => {
  const directory = await temporaryDirectory(t);
  const writer = startWriter(t, directory, 0);
  await writer.reached(1);
  await assert.rejects(openStore(directory), (error: unknown) => {
    assert.ok(error instanceof StorageError && error.code === "Refused");
    assert.match(error.message, new RegExp(`in use by process ${writer.child.pid}`));
    return true;
  });
  const seen = writer.acknowledged.length;
  await writer.reached(seen + 100);
  await writer.kill();
  await using store = await openStore(directory);
  assert.ok((await store.currentRevision(signal)) > 1);
});

test("a directory that cannot be used is Refused with its reason", async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, "file");
  await writeFile(file, "not a directory");
  await assert.rejects(openStore(file), { name: "StorageError", code: "Refused" });
});

test("nobody else may read the stored objects, whoever made the directory", async (t) => {
  const directory = await temporaryDirectory(t);
  await chmod(directory, 0o755);
  await using store = await openStore(directory);
  await putText(store, "/secret", "x");
  assert.equal((await stat(join(directory, "store.mdb"))).mode & 0o777, 0o600);
});

test("history, versions and the compacted revision outlive the process", async (t) => {
  const directory = await temporaryDirectory(t);
  const revisions: Revision[] = [];
  {
    await using store = await openStore(directory);
    for (let round = 0; round < 10; round++) {
      revisions.push(await putText(store, "/a", String(round)));
    }
    await store.compact(revisions[4] as Revision, signal);
  }
  await using store = await openStore(directory);
  assert.equal(await store.currentRevision(signal), revisions[9]);
  for (const [round, revision] of revisions.entries()) {
    if (round >= 4) assert.equal(await textOf(store, "/a", revision), String(round));
    else {
      await assert.rejects(textOf(store, "/a", revision), { code: "Compacted" });
    }
  }
  const seen: Revision[] = [];
  const after = revisions[4] as Revision;
  for await (const batch of store.watch({ prefix: "/a", after }, signal)) {
    for (const event of batch.events) if (event.type === "put") seen.push(event.kv.modRevision);
    if (batch.revision >= (revisions[9] as Revision)) break;
  }
  assert.deepEqual(seen, revisions.slice(5));
});

test("a lease goes on over a restart, by the time that has passed meanwhile", async (t) => {
  const directory = await temporaryDirectory(t);
  const clock = new ManualClock();
  const leasedPut = async (store: RevisionedStore, key: string, ttlSeconds: number) => {
    const lease = await store.lease(ttlSeconds, signal);
    const operations = [{ type: "put", key, value: Buffer.from("x"), lease }] as const;
    await store.commit({ compares: [], operations }, signal);
  };
  {
    await using store = await openStore(directory, clock);
    await leasedPut(store, "/leased/short", 30);
    await leasedPut(store, "/leased/long", 120);
    await leasedPut(store, "/leased/over-while-away", 5);
  }
  clock.advance(10_000);
  await using store = await openStore(directory, clock);
  const before = await store.currentRevision(signal);
  const watch = store.watch({ prefix: "/leased/", after: before }, signal)[Symbol.asyncIterator]();
  const nextDeleted = async () => {
    const { value } = await watch.next();
    assert.ok(value);
    return value.events.map((event: { type: string; key?: string }) => [event.type, event.key]);
  };
  assert.deepEqual(await nextDeleted(), [["delete", "/leased/over-while-away"]]);
  clock.advance(21_000);
  assert.deepEqual(await nextDeleted(), [["delete", "/leased/short"]]);
  assert.equal(await textOf(store, "/leased/long"), "x");
  clock.advance(91_000);
  assert.deepEqual(await nextDeleted(), [["delete", "/leased/long"]]);
});

test("a lease with thousands of keys ends in bounded steps and wholly", async (t) => {
  const directory = await temporaryDirectory(t);
  const clock = new ManualClock();
  await using store = await openStore(directory, clock);
  const lease = await store.lease(10, signal);
  for (let start = 0; start < 1200; start += 100) {
    const operations = Array.from({ length: 100 }, (_, index) => {
      return { type: "put", key: `/k/${start + index}`, value: Buffer.of(1), lease } as const;
    });
    await store.commit({ compares: [], operations }, signal);
  }
  const before = await store.currentRevision(signal);
  clock.advance(11_000);
  let deleted = 0;
  for await (const { events } of store.watch({ prefix: "/k/", after: before }, signal)) {
    deleted += events.length;
    if (deleted >= 1200) break;
  }
  assert.equal((await store.range({ prefix: "/k/" }, signal)).count, 0);
  const operations = [{ type: "put", key: "/k/late", value: Buffer.of(1), lease }] as const;
  await assert.rejects(store.commit({ compares: [], operations }, signal), { code: "Refused" });
});

test("compaction gives pages back: the file of a busy store stops growing", async (t) => {
  const directory = await temporaryDirectory(t);
  await using store = await openStore(directory);
  const value = Buffer.alloc(4096, "v");
  const sizes: number[] = [];
  for (let round = 0; round < 6; round++) {
    for (let write = 0; write < 10; write++) {
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => {
          const operations = [{ type: "put", key: `/k/${index}`, value }] as const;
          return store.commit({ compares: [], operations }, signal);
        }),
      );
    }
    await store.compact(await store.currentRevision(signal), signal);
    sizes.push((await stat(join(directory, "store.mdb"))).size);
  }
  assert.ok((sizes[5] ?? 0) <= (sizes[1] ?? 0) * 1.3, `sizes after each round: ${sizes}`);
});

test("a watch far behind reads on from the disk, with values and previous ones", async (t) => {
  const directory = await temporaryDirectory(t);
  {
    await using store = await openStore(directory);
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 300 }, (_, index) => putText(store, `/k/${index}`, `${round}`)),
      );
    }
  }
  await using store = await openStore(directory);
  const end = await store.currentRevision(signal);
  const last = new Map<string, string>();
  let batches = 0;
  const options = { prefix: "/k/", after: 1 as Revision, withPrevious: true };
  for await (const { events, revision } of store.watch(options, signal)) {
    batches++;
    for (const event of events) {
      assert.ok(event.type === "put");
      assert.equal(event.previous?.value.toString(), last.get(event.kv.key));
      last.set(event.kv.key, event.kv.value.toString());
    }
    if (revision >= end) break;
  }
  assert.ok(batches > 1, "a batch is bounded");
  assert.ok([...last.values()].every((value) => value === "19"));
  assert.equal(last.size, 300);
});

/** Time that tests move by hand; both clocks move together. */
class ManualClock implements Clock {
  #nowMs = 1_700_000_000_000;
  readonly #sleepers = new Set<{ readonly endMs: number; readonly wake: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  sleep(delayMs: number, aborted: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (aborted.aborted) return reject(aborted.reason);
      const sleeper = { endMs: this.#nowMs + delayMs, wake: resolve };
      this.#sleepers.add(sleeper);
      aborted.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        reject(aborted.reason);
      });
    });
  }

  advance(elapsedMs: number): void {
    this.#nowMs += elapsedMs;
    for (const sleeper of [...this.#sleepers]) {
      if (sleeper.endMs > this.#nowMs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }
}

/** Writes and deletes that leave no keys; each round compacts to the one before, as the server does. */
async function churn(store: EmbeddedStore, rounds: number, onRound: () => Promise<void>) {
  const value = Buffer.alloc(8_000, "x");
  let before: Revision | undefined;
  for (let round = 0; round < rounds; round++) {
    const writes = Array.from({ length: 500 }, (_, index) => `/churn/${index}`);
    const commitAll = (toOperation: (key: string) => Operation) => {
      const commits = writes.map((key) => ({ compares: [], operations: [toOperation(key)] }));
      return Promise.all(commits.map((transaction) => store.commit(transaction, signal)));
    };
    for (let update = 0; update < 3; update++) {
      await commitAll((key) => ({ type: "put", key, value }));
    }
    await commitAll((key) => ({ type: "delete", key }));
    const now = await store.currentRevision(signal);
    if (before !== undefined) await store.compact(before, signal);
    before = now;
    await onRound();
  }
}

test("the file is as long as history has been and no longer, mapped once, and short again after a start", async (t) => {
  const directory = await temporaryDirectory(t);
  const path = join(directory, "store.mdb");
  const sizes: number[] = [];
  {
    await using store = await openStore(directory);
    await churn(store, 8, async () => void sizes.push((await stat(path)).size));
    const maps = (await readFile("/proc/self/maps", "utf8")).split("\n");
    assert.equal(maps.filter((line) => line.endsWith(path)).length, 1);
    await putText(store, "/kept", "text");
  }
  // History covers two rounds at most; a third is written while the first is being removed.
  const history = sizes[1] ?? 0;
  assert.ok(history > 30_000_000, `${history} bytes`);
  const largest = Math.max(...sizes);
  assert.ok(largest <= history * 1.6, `from ${history} to ${largest} bytes`);
  {
    await using store = await openStore(directory);
    const now = await store.currentRevision(signal);
    await store.compact(now, signal);
  }
  await using store = await openStore(directory);
  const { size } = await stat(path);
  assert.ok(size < 1_000_000, `${size} bytes`);
  assert.equal(await textOf(store, "/kept"), "text");
  await putText(store, "/kept", "more");
  assert.equal(await textOf(store, "/kept"), "more");
});

test("a start that was killed while it made the file shorter is followed by one that goes on", async (t) => {
  const directory = await temporaryDirectory(t);
  {
    await using store = await openStore(directory);
    await putText(store, "/kept", "text");
  }
  await writeFile(join(directory, "store.mdb.new"), "half of a copy");
  await using store = await openStore(directory);
  assert.equal(await textOf(store, "/kept"), "text");
  await assert.rejects(stat(join(directory, "store.mdb.new")), { code: "ENOENT" });
});
