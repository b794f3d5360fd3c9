/**
 * Client-go, the library that most clients are made of, against a running server (S1-NEG-03, S1-PB-09,
 * S1-WATCH-25): `npm run test:client-go`. A command of its own, as it fetches and builds Go programs for
 * a minute or two; what it needs comes by e2e/install-tools.sh. The program is main.go.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openAdmissionHook } from "../../server/admission/testing/admission-webhook.js";
import { writeSamples } from "../definitions/samples.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { HELMS, missingHelm } from "../helm/chart.js";
import { playWebhooks, putUnderRules, renderController } from "../helm/policy-controller.js";

const REPOSITORY = fileURLToPath(new URL("../../..", import.meta.url));

/** How the clients are to speak; the program is the same. */
const RUNS = [
  ["typed clients in Protobuf, streaming lists", {}, []],
  ["the same with lists in pages", { KUBE_FEATURE_WatchListClient: "false" }, []],
  [
    "typed clients in CBOR",
    { KUBE_FEATURE_ClientsAllowCBOR: "true", KUBE_FEATURE_ClientsPreferCBOR: "true" },
    ["--cbor"],
  ],
] as const;

const SOURCES = ["main.go", "policies.go", "custom-kinds.go", "definitions.go"];

async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn(program, args, { stdio: "inherit", env: { ...process.env, ...env } });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${program} ended with status ${code}`);
}

async function main(): Promise<void> {
  await run("sh", [join(REPOSITORY, "e2e/install-tools.sh"), "client-go"]);
  await using folder = await makeTempDir("client-go");
  const program = join(folder.path, "client-go");
  process.stdout.write("building\n");
  const sources = SOURCES.map((name) => join(REPOSITORY, "e2e/client-go", name));
  await run(join(REPOSITORY, ".tools/bin/client-go"), ["build", "-o", program, ...sources]);
  await using server = await startServer({
    flags: ["--feature-gates=CBORServingAndStorage=true"],
  });
  for (const [what, env, args] of RUNS) {
    process.stdout.write(`\n${what}\n`);
    await run(program, [`--kubeconfig=${server.kubeconfig}`, ...args], env);
  }
  process.stdout.write("\ndefinitions as they are published, and shaped like such\n");
  const samples = join(folder.path, "samples.json");
  await writeSamples(samples);
  await run(program, [`--kubeconfig=${server.kubeconfig}`, `--definitions=${samples}`]);
  process.stdout.write("\nrules of a policy controller\n");
  await runPolicies(program, server);
}

/** The chart is rendered by Helm, and everything else done by the program. */
async function runPolicies(program: string, server: ServerProcess): Promise<void> {
  const [helm] = HELMS;
  const missing = await missingHelm(helm);
  if (missing !== false) {
    process.stdout.write(`not ok: ${missing}\n`);
    return;
  }
  await using hook = await openAdmissionHook();
  playWebhooks(hook, true);
  const namespace = "under-go";
  await putUnderRules(server, namespace);
  const { manifests } = await renderController(helm, "go", { server, hook }, namespace);
  const flags = [`--manifests=${manifests}`, `--namespace=${namespace}`];
  await run(program, [`--kubeconfig=${server.kubeconfig}`, ...flags]);
}

await main();
