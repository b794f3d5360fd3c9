/** People 10: `keelson history` and `keelson diff`, from the versions that the store keeps. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { showDiff, showHistory } from "../server/commands/history.js";
import { parseDiffOptions, parseHistoryOptions } from "../server/config/history-options.js";
import { COMMAND } from "./harness/command.js";
import { HttpsClient } from "./harness/https-client.js";
import { startKeelson } from "./harness/start-api.js";

const run = promisify(execFile);
const never = new AbortController().signal;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

test("People 10: who changed which fields, and what differs between two versions", async () => {
  await using api = await startKeelson();
  const admin = new HttpsClient(api.url, api);
  const write = async (method: string, path: string, manager: string, body: object) => {
    const answer = await admin.request(`${path}?fieldManager=${manager}`, { method, body });
    return JSON.parse(String(answer.bytes)).metadata.resourceVersion as string;
  };
  const metadata = { name: "it" };
  await admin.post(CONFIG_MAPS, { metadata });
  await admin.delete(`${CONFIG_MAPS}/it`);
  const data = { a: "1", b: "1" };
  const first = await write("POST", CONFIG_MAPS, "alice", { metadata, data });
  await write("POST", CONFIG_MAPS, "other", { metadata: { name: "other" } });
  const second = await write("PUT", `${CONFIG_MAPS}/it`, "bob", {
    metadata,
    data: { a: "2", c: "1" },
  });
  const third = await write("PUT", `${CONFIG_MAPS}/it`, "alice", { metadata, data: { a: "3" } });
  admin.close();

  const object = ["cm", "it", `--kubeconfig=${api.kubeconfigPath}`];
  const history = await showHistory(parseHistoryOptions(object), never);
  const rows = history.trimEnd().split("\n").slice(1);
  assert.deepEqual(
    rows.map((row) => row.split(/ {3,}/).filter((_, at) => at !== 1)),
    [
      [third, "alice (Update)", "data.a, data.c"],
      [second, "bob (Update)", "data.a, data.c, data.b"],
      [first, "alice (Update)", "(created)"],
    ],
    history,
  );
  assert.equal(
    (await showHistory(parseHistoryOptions([...object, "--limit=1"]), never)).split("\n").length,
    3,
  );
  assert.equal(
    await showDiff(parseDiffOptions(object), never),
    `--- ${second}\n+++ ${third}\n- data.a: "2"\n+ data.a: "3"\n- data.c: "1"\n`,
  );
  const { stdout } = await run(process.execPath, [COMMAND, "diff", ...object, `--from=${first}`]);
  assert.equal(stdout, `--- ${first}\n+++ ${third}\n- data.a: "1"\n+ data.a: "3"\n- data.b: "1"\n`);
  const unknown = parseHistoryOptions(["nothings", "it", `--kubeconfig=${api.kubeconfigPath}`]);
  await assert.rejects(showHistory(unknown, never), { message: /no resource "nothings"/ });
  const missing = parseHistoryOptions(["cm", "none", `--kubeconfig=${api.kubeconfigPath}`]);
  await assert.rejects(showHistory(missing, never), { message: /"none" not found \(404\)/ });
});

test("#46 history asks the recorder who wrote what, as blame does: managedFields cannot tell two writers of one second", async () => {
  await using api = await startKeelson({ record: true });
  const admin = new HttpsClient(api.url, api);
  const metadata = { name: "it" };
  const body = { metadata, data: { a: "1" } };
  (await admin.post(`${CONFIG_MAPS}?fieldManager=alice`, body)).expect(201);
  const put = (manager: string, a: string) =>
    admin.request(`${CONFIG_MAPS}/it?fieldManager=${manager}`, {
      ...{ method: "PUT", body: { metadata, data: { a } } },
      headers: { "user-agent": "robot/1" },
    });
  // The second of the two owns no field more than before: only the recorder knows who it was.
  for (const [manager, a] of [
    ["bob", "2"],
    ["bob", "3"],
    ["alice", "4"],
    ["bob", "5"],
  ] as const) {
    (await put(manager, a)).expect(200);
  }
  admin.close();
  const object = ["cm", "it", `--kubeconfig=${api.kubeconfigPath}`, "-o", "json"];
  const { kind, versions } = JSON.parse(await showHistory(parseHistoryOptions(object), never));
  assert.equal(kind, "History");
  assert.deepEqual(
    versions.map((one: Record<string, unknown>) => [one.who, one.agent, one.how, one.changedPaths]),
    [
      ["bob (Update)", "robot/1", "recorded", ["data.a"]],
      ["alice (Update)", "robot/1", "recorded", ["data.a"]],
      ["bob (Update)", "robot/1", "recorded", ["data.a"]],
      ["bob (Update)", "robot/1", "recorded", ["data.a"]],
      ["alice (Update)", versions.at(-1).agent, "recorded", []],
    ],
  );
  const { changes } = JSON.parse(await showDiff(parseDiffOptions(object), never));
  assert.deepEqual(changes, [{ path: "data.a", before: "4", after: "5" }]);
  // Of a server without a recorder managedFields say it.
  await using other = await startKeelson();
  const client = new HttpsClient(other.url, other);
  (await client.post(`${CONFIG_MAPS}?fieldManager=alice`, body)).expect(201);
  client.close();
  const without = ["cm", "it", `--kubeconfig=${other.kubeconfigPath}`, "-o", "json"];
  const managed = JSON.parse(await showHistory(parseHistoryOptions(without), never));
  assert.deepEqual([managed.versions[0].how, managed.versions[0].user], ["managed", ""]);
});

test("#46 history and diff of an object that was deleted: who deleted it, and what it was before", async () => {
  await using api = await startKeelson({ record: true, users: [{ name: "stranger" }] });
  const admin = new HttpsClient(api.url, api);
  const metadata = { name: "it", finalizers: ["example.com/held"] };
  const write = async (method: string, manager: string, body: object) => {
    const path = method === "POST" ? CONFIG_MAPS : `${CONFIG_MAPS}/it`;
    const answer = await admin.request(`${path}?fieldManager=${manager}`, { method, body });
    return String(JSON.parse(String(answer.bytes)).metadata.resourceVersion);
  };
  const first = await write("POST", "alice", { metadata, data: { a: "1" } });
  const second = await write("PUT", "bob", { metadata, data: { a: "2" } });
  (await admin.delete(`${CONFIG_MAPS}/it`)).expect(200);
  await write("PUT", "carol", { metadata: { name: "it" }, data: { a: "2" } });
  (await admin.get(`${CONFIG_MAPS}/it`)).expect(404);
  admin.close();

  const object = ["cm", "it", `--kubeconfig=${api.kubeconfigPath}`];
  const history = await showHistory(parseHistoryOptions(object), never);
  const rows = history.trimEnd().split("\n").slice(1);
  const cells = rows.map((row) => row.split(/ {3,}/).filter((_, at) => at !== 1));
  assert.deepEqual(
    cells.map(([, who, what]) => [who, what]),
    [
      ["carol (Update)", "(deleted)"],
      [
        "kubernetes-admin (Delete)",
        "metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds",
      ],
      ["bob (Update)", "data.a"],
      ["alice (Update)", "(created)"],
    ],
    history,
  );
  assert.deepEqual([cells[2]?.[0], cells[3]?.[0]], [second, first]);
  const json = JSON.parse(await showHistory(parseHistoryOptions([...object, "-o", "json"]), never));
  assert.deepEqual(
    json.versions.map((one: Record<string, unknown>) => one.isDeletion),
    [true, false, false, false],
  );
  // The last version that it had, and the one before.
  const diff = await showDiff(parseDiffOptions(object), never);
  assert.match(diff, new RegExp(`^--- ${second}\n\\+\\+\\+ ${cells[1]?.[0]}\n`));
  assert.match(diff, /^\+ metadata\.deletionTimestamp: "/m);
  const since = await showDiff(parseDiffOptions([...object, `--from=${first}`]), never);
  assert.match(since, /^- data\.a: "1"\n\+ data\.a: "2"$/m);

  // Who may not read it learns nothing of it.
  const path = join(dirname(api.kubeconfigPath), "stranger.kubeconfig");
  await writeFile(path, api.as("stranger").kubeconfig);
  const asked = parseHistoryOptions(["cm", "it", `--kubeconfig=${path}`]);
  await assert.rejects(showHistory(asked, never), { message: /forbidden.*\(403\)$/ });
});

test("#46 an object that was deleted and that nobody recorded has no history", async () => {
  await using api = await startKeelson();
  const admin = new HttpsClient(api.url, api);
  (await admin.post(CONFIG_MAPS, { metadata: { name: "it" } })).expect(201);
  (await admin.delete(`${CONFIG_MAPS}/it`)).expect(200);
  admin.close();
  for (const show of [
    () => showHistory(parseHistoryOptions(["cm/it", `--kubeconfig=${api.kubeconfigPath}`]), never),
    () => showDiff(parseDiffOptions(["cm/it", `--kubeconfig=${api.kubeconfigPath}`]), never),
  ]) {
    await assert.rejects(show, { message: /"it" not found \(404\)$/ });
  }
});

test("#46 the picture of an API's first second has nothing of its own start", async () => {
  await using api = await startKeelson({ record: true });
  const admin = new HttpsClient(api.url, api);
  (await admin.post(CONFIG_MAPS, { metadata: { name: "mine" } })).expect(201);
  admin.close();
  const svg = await api.timeline({ lastMs: 60_000 });
  assert.match(svg, /configmaps default\/mine/);
  assert.doesNotMatch(svg, /create {2}(?:clusterroles|flowschemas|namespaces) /);
});
