/**
 * The Python client and Ruby's kubeclient against a running server: `npm run test:clients`. A command of
 * its own, as it fetches Ruby (50 MB); what it needs comes by e2e/install-tools.sh from the
 * machine's own package sources. The programs are main.py and main.rb, and those for definitions as they are
 * published: definitions.py and definitions.rb.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { writeSamples } from "../definitions/samples.js";
import { furnished } from "../harness/furnished-namespace.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { findTool, repositoryRoot } from "../tools/find-tool.js";

const CLIENTS = [
  ["python-client", "main.py", "definitions.py"],
  ["ruby-client", "main.rb", "definitions.rb"],
] as const;

await using server = await startServer({ flags: ["--run-controllers"] });
await using folder = await makeTempDir("samples");
const samples = join(folder.path, "samples.json");
await writeSamples(samples);
await furnished(server.client);
for (const [tool, program, definitions] of CLIENTS) {
  const path = await findTool(tool);
  if (path === undefined) {
    process.stdout.write(`${tool} is not to be had here\n`);
    continue;
  }
  const namespace = { metadata: { name: tool } };
  (await server.client.post("/api/v1/namespaces", namespace)).expect(201);
  await run(path, program, tool);
  await run(path, definitions, samples);
}
await server.stop();

async function run(path: string, program: string, argument: string): Promise<void> {
  const args = [join(repositoryRoot(), "e2e/other-clients", program), server.kubeconfig, argument];
  const child = spawn(path, args, { stdio: "inherit", env: { LANG: "C.UTF-8" } });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exitCode = 1;
}
