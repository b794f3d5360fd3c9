/** The recorder's directory: what is asked behind a restart, or a kill in the middle of writes, is told as before. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { blame, explainWhy } from "../server/commands/why.js";
import type { Explanation, RecordStatus, Timeline } from "../server/recorder/record-types.js";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const SECRETS = "/api/v1/namespaces/default/secrets";
const PATCH = { "content-type": "application/merge-patch+json" };
const WRITERS = 8;
/** Of the disk that becomes full. */
const DISK_BYTES = 256 * 1024;
const signal = new AbortController().signal;

async function ask<T>(client: HttpsClient, path: string): Promise<T> {
  return (await client.get(path)).expect(200).object as unknown as T;
}

async function textsIn(path: string): Promise<string> {
  const names = (await readdir(path)).filter((name) => name.endsWith(".records"));
  const texts = await Promise.all(names.map((name) => readFile(join(path, name), "utf8")));
  return texts.join("");
}

/** Writes until the server is gone. */
async function writeOn(client: HttpsClient, writer: number): Promise<void> {
  for (let write = 0; ; write++) {
    const body = { metadata: { name: `flood-${writer}-${write}` }, data: { a: "b" } };
    try {
      await client.post(CONFIG_MAPS, body);
    } catch {
      return;
    }
  }
}

test("#46 --record=DIR: why, blame and the timeline tell behind kill -9 what was recorded before, and no file has a value", async () => {
  await using dir = await makeTempDir("record-data");
  await using records = await makeTempDir("record-files");
  const path = join(records.path, "records");
  const options = { dataDir: dir.path, flags: [`--record=${path}`] };
  await using first = await startServer(options);
  const admin = first.client;
  const follower = new HttpsClient(first.url, first.credentials);
  const watch = await follower.watch(`${CONFIG_MAPS}?watch=1`);
  const cause = { metadata: { name: "cause" }, data: { "key-of-map": "value-of-map" } };
  const { uid } = (await admin.post(CONFIG_MAPS, cause)).expect(201).object.metadata;
  for (let name: unknown; name !== "cause"; ) {
    // A loop over it would end the watch.
    const { value } = await watch.next();
    assert.ok(value !== undefined, "the watch goes on");
    name = value.object.metadata.name;
  }
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "cause", uid }];
  const effect = { metadata: { name: "effect", ownerReferences }, data: { a: "1", b: "2" } };
  (await follower.post(`${CONFIG_MAPS}?fieldManager=maker`, effect)).expect(201);
  const change = { method: "PATCH", body: { data: { b: "3" } }, headers: PATCH };
  (await follower.request(`${CONFIG_MAPS}/effect?fieldManager=changer`, change)).expect(200);
  const hush = { metadata: { name: "hush" }, stringData: { "key-of-secret": "value-of-secret" } };
  (await admin.post(SECRETS, hush)).expect(201);
  const louder = { stringData: { "other-key": "other-value-of-secret" } };
  const patch = { method: "PATCH", body: louder, headers: PATCH };
  (await admin.request(`${SECRETS}/hush`, patch)).expect(200);
  const account = { metadata: { name: "robot" } };
  (await admin.post("/api/v1/namespaces/default/serviceaccounts", account)).expect(201);
  const asked = await admin.post("/api/v1/namespaces/default/serviceaccounts/robot/token", {});
  const token = String((asked.expect(201).object as { status?: { token: string } }).status?.token);
  const before = await ask<Timeline>(admin, "/debug/record/timeline?name=effect");

  const flood = Array.from({ length: WRITERS }, (_, writer) => writeOn(admin, writer));
  await eventually("the files tell of the flood", async () => {
    return (await textsIn(path)).includes("flood-0-3");
  });
  await first.kill();
  await Promise.all(flood);
  follower.close();

  for (const name of await readdir(path)) {
    assert.equal((await stat(join(path, name))).mode & 0o777, 0o600, name);
  }
  const text = await textsIn(path);
  assert.match(text, /"hush"/);
  assert.match(text, /data\.b/);
  assert.doesNotMatch(text, /value-of|key-of-secret|other-key/);
  assert.ok(token.length > 20 && !text.includes(token));

  await using second = await startServer(options);
  const after = await ask<Timeline>(second.client, "/debug/record/timeline?name=effect");
  assert.deepEqual(after.writes, before.writes);
  const why = "/debug/record/why?resource=configmaps&namespace=default&name=effect";
  const made = after.writes[0]?.revision;
  const { steps, writes } = await ask<Explanation>(second.client, `${why}&revision=${made}`);
  const names = steps.map(({ write }) => writes.find(({ id }) => id === write)?.name);
  assert.deepEqual(names.slice(0, 2), ["effect", "cause"]);
  assert.notEqual(steps[0]?.candidates[0]?.deliveredTime, "");

  await second.client.patch(`${CONFIG_MAPS}/effect?fieldManager=later`, { data: { a: "4" } });
  const target = { kubeconfig: second.kubeconfig, context: undefined, server: undefined };
  const object = { ...target, type: "cm", name: "effect", namespace: "default" };
  const blamed = await blame({ ...object, form: "text" }, signal);
  assert.match(blamed, /later +data\.a: "4"\n/);
  assert.match(blamed, /changer +data\.b: "3"\n/);
  const command = { ...object, revision: "", form: "text", isLoops: false } as const;
  assert.match(String(await explainWhy(command, signal)), /changed data\.a\)\n.*by later, /);
  const all = await ask<Timeline>(second.client, "/debug/record/timeline?limit=10000");
  const ids = all.writes.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  const status = await ask<RecordStatus>(second.client, "/debug/record");
  assert.equal(status.dropped, 0);
  assert.equal(status.since, all.writes[0]?.time);
  const metrics = (await second.client.get("/metrics")).text;
  assert.match(metrics, /^apiserver_record_directory_bytes [1-9]/m);
  assert.match(metrics, /^apiserver_record_dropped_total 0$/m);
});

test("#46 a directory of records serves one process, and records of another store are left out", async () => {
  await using records = await makeTempDir("record-files");
  const flags = [`--record=${records.path}`];
  await using first = await startServer({ flags });
  (await first.client.post(CONFIG_MAPS, { metadata: { name: "elsewhere" } })).expect(201);
  await assert.rejects(startServer({ flags }), /--record: .* has the records of another process/);
  await first.stop();
  assert.match(await textsIn(records.path), /"elsewhere"/);

  await using second = await startServer({ flags });
  const { writes } = await ask<Timeline>(second.client, "/debug/record/timeline?name=elsewhere");
  assert.deepEqual(writes, []);
  assert.match(second.logs, /are of another store/);
});

test("#46 a directory that cannot be used is told once, and no write waits for it", async () => {
  await using records = await makeTempDir("record-files");
  await using server = await startServer({ flags: [`--record=${records.path}/../../dev/full/x`] });
  (await server.client.post(CONFIG_MAPS, { metadata: { name: "written" } })).expect(201);
  const { writes } = await ask<Timeline>(server.client, "/debug/record/timeline?name=written");
  assert.equal(writes.length, 1);
  const { logs } = server;
  assert.equal(logs.match(/the directory of --record cannot be read/g)?.length, 1);
});

/** undefined = this user may give a process a disk of its own. */
async function whyNoDisk(path: string): Promise<string | undefined> {
  try {
    await promisify(execFile)("unshare", ["-m", "mount", "-t", "tmpfs", "none", path]);
    return undefined;
  } catch (error) {
    return `no disk can be mounted here: ${String(error)}`;
  }
}

/** Takes all that is left of the disk. */
async function fillDisk(ballast: string): Promise<void> {
  await using file = await open(ballast, "w");
  for (let bytes = DISK_BYTES; bytes > 0; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) await file.write(Buffer.alloc(bytes));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    }
  }
}

test("#46 a full disk under --record=DIR holds up no write, is told once and counted, and what was kept meanwhile follows when there is room", async (t) => {
  await using records = await makeTempDir("record-full");
  const reason = await whyNoDisk(records.path);
  if (reason !== undefined) return t.skip(reason);
  const mount = `mount -t tmpfs -o size=${DISK_BYTES} none ${records.path} && exec "$0" "$@"`;
  await using server = await startServer({
    node: "unshare",
    nodeFlags: ["-m", "sh", "-c", mount, process.execPath],
    flags: [`--record=${records.path}`],
  });
  const { client } = server;
  // The disk as the server sees it.
  const disk = `/proc/${server.pid}/root${records.path}`;
  const write = async (name: string) =>
    (await client.post(CONFIG_MAPS, { metadata: { name } })).expect(201);
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (.*)$`, "m").exec((await client.get("/metrics")).text)?.[1]);
  const failures = () => metric("apiserver_record_directory_failures_total");
  const told = (what: string) => server.logs.split(what).length - 1;
  await write("before-it");
  await eventually("the files tell", async () => (await textsIn(disk)).includes("before-it"));
  assert.equal(await failures(), 0);

  await fillDisk(`${disk}/ballast`);
  // More than the last page of a file takes.
  for (let count = 0; count < 40; count++) await write(`meanwhile-${count}`);
  await eventually("it failed again and again", async () => (await failures()) >= 2);
  assert.equal(told("takes no records"), 1);
  assert.doesNotMatch(await textsIn(disk), /meanwhile-39/);
  const { writes } = await ask<Timeline>(client, "/debug/record/timeline?name=meanwhile-39");
  assert.equal(writes.length, 1);

  await rm(`${disk}/ballast`);
  await eventually("the files tell all", async () =>
    (await textsIn(disk)).includes("meanwhile-39"),
  );
  const text = await textsIn(disk);
  for (let count = 0; count < 40; count++) assert.match(text, new RegExp(`"meanwhile-${count}"`));
  await eventually("it is told", () => told("takes records again") === 1);
  assert.equal(told("takes no records"), 1);
  assert.equal(await metric("apiserver_record_dropped_total"), 0);
  await write("behind-it");
  await eventually("the files tell", async () => (await textsIn(disk)).includes("behind-it"));
});
