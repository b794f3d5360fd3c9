/**
 * The programs of a whole cluster around Keelson, as they are on the machine of whoever runs this: `npm run test:components -- --bin=DIR`. DIR has
 * kube-controller-manager and kube-scheduler, which are no part of the project; nodes are fake (fake-nodes.ts). Default roles and the loops'
 * own service accounts, and a day of a cluster in two minutes; at the end no line of error may be in their logs.
 *
 *   --bin=DIR         where the two programs are
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "../tools/child.js";
import { requireTool } from "../tools/find-tool.js";
import { freePort } from "../tools/free-port.js";
import { startNodes } from "./fake-nodes.js";
import { STEPS, type Tools } from "./steps.js";

const { values } = parseArgs({ options: { bin: { type: "string" } } });
assert.ok(values.bin !== undefined, "--bin=DIR names the folder of the two programs");
const run = promisify(execFile);
const STEP_MS = 150_000;

await using server = await startServer({ flags: ["--run-controllers=false"] });
await using folder = await makeTempDir("components");
const ending = new AbortController();
const programs: Child[] = [];
try {
  const pki = join(server.dataDir, "pki");
  const kubeconfigs = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
  const access = kubeconfigs.map((name) => `--${name}=${server.kubeconfig}`);
  const common = [...access, "--bind-address=127.0.0.1", "--leader-elect=false"];
  const signing = ["cert", "key"].map(
    (what) =>
      `--cluster-signing-${what}-file=${join(pki, `client-ca.${what === "cert" ? "crt" : "key"}`)}`,
  );
  await start("kube-controller-manager", [
    ...common,
    ...signing,
    `--cert-dir=${folder.path}`,
    `--root-ca-file=${join(pki, "serving-ca.crt")}`,
    "--use-service-account-credentials",
    "--node-monitor-grace-period=10s",
  ]);
  await start("kube-scheduler", [...common, `--cert-dir=${folder.path}`]);
  const kubectl = await requireTool("kubectl");
  const nodes = await startNodes(server.client, ["node-a", "node-b", "node-c"], ending.signal);
  const tools: Tools = {
    client: server.client,
    nodes,
    kubectl: async (...args) => {
      const flags = ["--kubeconfig", server.kubeconfig, "--namespace=trial"];
      return (await run(kubectl, [...flags, ...args])).stdout.trim();
    },
    until: (what, probe) => eventually(what, probe, STEP_MS),
  };
  await prepare(server.client);
  for (const { title, take } of STEPS) {
    const begun = performance.now();
    await take(tools);
    process.stdout.write(`${title}: ${Math.round(performance.now() - begun)} ms\n`);
  }
  for (const name of ["kube-controller-manager", "kube-scheduler"]) {
    const log = await readFile(join(folder.path, name), "utf8");
    const errors = log.split("\n").filter((line) => /^[EF]\d{4} /.test(line));
    assert.deepEqual(errors, [], `${name} logs errors`);
    process.stdout.write(`${name}: ${log.split("\n").length} lines, none of an error\n`);
  }
} finally {
  ending.abort();
  for (const program of programs) await program.end("SIGTERM");
}

async function start(name: string, args: readonly string[]): Promise<void> {
  const port = `--secure-port=${await freePort()}`;
  const line = 'exec "$0" "$@" 2> "$LOG"';
  const program = join(values.bin ?? "", name);
  const env = { LOG: join(folder.path, name) };
  programs.push(new Child("sh", ["-c", line, program, ...args, port], "", env));
}

/** What an installation of a whole cluster makes: their namespace, and its default account by the loops. */
async function prepare(client: HttpsClient): Promise<void> {
  (await client.post("/api/v1/namespaces", { metadata: { name: "trial" } })).expect(201);
  const path = "/api/v1/namespaces/trial/serviceaccounts/default";
  await eventually(
    "the default account",
    async () => (await client.get(path)).status === 200,
    STEP_MS,
  );
}
