/**
 * The programs of a whole cluster around Keelson, as they are on the machine of whoever runs this: `npm run test:components -- --bin=DIR`. DIR has
 * kube-controller-manager and kube-scheduler, which are no part of the project; nodes are fake (fake-nodes.ts). Default roles and the loops'
 * own service accounts, and a day of a cluster in two minutes; at the end no line of error may be in their logs.
 *
 *   --bin=DIR         where the two programs are
 *   --replicas=N      more than one: replicas over an etcd of three members, behind HAProxy, which start again one
 *                     after the other in the middle of it (default: one server on the embedded store)
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { TestAuthority } from "../harness/test-authority.js";
import { Child } from "../tools/child.js";
import { requireTool } from "../tools/find-tool.js";
import { freePort } from "../tools/free-port.js";
import { startNodes } from "./fake-nodes.js";
import { openPlace } from "./places.js";
import { STEPS, type Tools } from "./steps.js";

const { values } = parseArgs({
  options: { bin: { type: "string" }, replicas: { type: "string", default: "1" } },
});
assert.ok(values.bin !== undefined, "--bin=DIR names the folder of the two programs");
const run = promisify(execFile);
const NAMES = ["kube-controller-manager", "kube-scheduler"];
/** A line's severity, behind what some builds begin every line with. */
const ERROR = /^(?:\?+ )?[EF]\d{4} /;
/** What the programs call errors with every API server, each with its reason. */
const OF_THEIR_OWN = [
  {
    line: /the object has been modified; please apply/,
    why: "two loops wrote, and one begins again",
  },
  {
    line: /is not as new as written version/,
    why: "a loop that is ahead of its cache begins again",
  },
  { line: /unable to taint .* not found/, why: "the node went in the same moment" },
  { line: /running PostFilter plugins .* status="not found"/, why: "the scheduler's own memory" },
  { line: /service-ca-cert-publisher|manifest file is empty/, why: "of a distribution's programs" },
] as const;
const STEP_MS = 150_000;
/** Before this step, while others go on. */
const RESTART_AT = 2;

await using folder = await makeTempDir("components");
const at = (name: string) => join(folder.path, name);
const signing = await TestAuthority.create("signing");
await writeFile(at("signing.crt"), signing.certificate);
await writeFile(at("signing.key"), await signing.exportKey());
await writeFile(at("proxies.crt"), (await TestAuthority.create("proxies")).certificate);
await using place = await openPlace(Number(values.replicas), [
  // As installers have it; the programs ask for it.
  `--requestheader-client-ca-file=${at("proxies.crt")}`,
  "--requestheader-username-headers=X-Remote-User",
  "--requestheader-group-headers=X-Remote-Group",
  "--requestheader-extra-headers-prefix=X-Remote-Extra-",
]);
const { client, kubeconfig } = place;
const ending = new AbortController();
const programs: Child[] = [];
try {
  const kubeconfigs = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
  const access = kubeconfigs.map((name) => `--${name}=${kubeconfig}`);
  const common = [...access, "--bind-address=127.0.0.1", "--leader-elect=false"];
  await start("kube-controller-manager", [
    ...common,
    `--cluster-signing-cert-file=${at("signing.crt")}`,
    `--cluster-signing-key-file=${at("signing.key")}`,
    `--cert-dir=${folder.path}`,
    `--root-ca-file=${place.rootAuthority}`,
    "--use-service-account-credentials",
    "--node-monitor-grace-period=10s",
  ]);
  await start("kube-scheduler", [...common, `--cert-dir=${folder.path}`]);
  const kubectl = await requireTool("kubectl");
  const nodes = await startNodes(client, ["node-a", "node-b", "node-c"], ending.signal);
  const tools: Tools = {
    client,
    nodes,
    kubectl: async (...args) => {
      const flags = ["--kubeconfig", kubeconfig, "--namespace=trial"];
      return (await run(kubectl, [...flags, ...args])).stdout.trim();
    },
    until: (what, probe) => eventually(what, probe, STEP_MS),
  };
  await prepare(client);
  let restarting = Promise.resolve();
  for (const [index, { title, take }] of STEPS.entries()) {
    if (index === RESTART_AT && place.restartAll !== undefined) {
      restarting = timed("all replicas start again, one after the other", place.restartAll);
    }
    await timed(title, () => take(tools));
  }
  await restarting;
  for (const name of NAMES) {
    const log = await readFile(join(folder.path, name), "utf8");
    const lines = log.split("\n");
    const errors = lines.filter((line) => ERROR.test(line));
    const others = errors.filter((line) => !OF_THEIR_OWN.some(({ line: own }) => own.test(line)));
    assert.deepEqual(others, [], `${name} logs errors`);
    process.stdout.write(`${name}: ${lines.length} lines, no error of the API's\n`);
    for (const { line: own, why } of OF_THEIR_OWN) {
      const count = errors.filter((line) => own.test(line)).length;
      if (count > 0) process.stdout.write(`  ${count} of its own: ${why}\n`);
    }
  }
} catch (error) {
  for (const name of NAMES) {
    const log = await readFile(join(folder.path, name), "utf8").catch(() => "");
    process.stderr.write(`${name} said last:\n${log.split("\n").slice(-20).join("\n")}\n`);
  }
  throw error;
} finally {
  ending.abort();
  for (const program of programs) await program.end("SIGTERM");
}

async function timed(title: string, take: () => Promise<void>): Promise<void> {
  const begun = performance.now();
  await take();
  process.stdout.write(`${title}: ${Math.round(performance.now() - begun)} ms\n`);
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
