/**
 * Client-go, the library that most clients are made of, against a running server (S1-NEG-03, S1-PB-09,
 * S1-WATCH-25): `npm run test:client-go`. A command of its own, as it fetches and builds Go programs for
 * a minute or two; what it needs comes by e2e/install-tools.sh. The program is main.go.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";

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
  const source = join(REPOSITORY, "e2e/client-go/main.go");
  await run(join(REPOSITORY, ".tools/bin/client-go"), ["build", "-o", program, source]);
  await using server = await startServer({
    flags: ["--feature-gates=CBORServingAndStorage=true"],
  });
  for (const [what, env, args] of RUNS) {
    process.stdout.write(`\n${what}\n`);
    await run(program, [`--kubeconfig=${server.kubeconfig}`, ...args], env);
  }
}

await main();
