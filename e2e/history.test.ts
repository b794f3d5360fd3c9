/** People 10: `keelson history` and `keelson diff`, from the versions that the store keeps. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { showDiff, showHistory } from "../server/commands/history.js";
import { parseDiffOptions, parseHistoryOptions } from "../server/config/history-options.js";
import { startKeelson } from "../server/start-keelson.js";
import { COMMAND } from "./harness/command.js";
import { HttpsClient } from "./harness/https-client.js";

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
