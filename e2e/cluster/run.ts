/**
 * `npm run cluster`: a whole installation on this machine. Without scenarios it stays until Ctrl-C;
 * with them it runs them one after the other and writes a report.
 */

import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { toHtmlReport, toJsonReport } from "./report.js";
import { runScenario, type ScenarioReport } from "./run-scenario.js";
import { findScenario, SCENARIOS, type Scenario } from "./scenarios.js";
import { startTopology } from "./topology.js";
import { describe, openView } from "./view.js";

const HELP = `Usage: npm run cluster -- [options]
  --replicas=3          replicas of the API server
  --etcd-members=3      members of etcd
  --scenario=NAME       may be repeated; "all"; without it the cluster just runs, until Ctrl-C
  --writers=40 --readers=100 --watchers=60 --think-ms=400
                        clients of a scenario
  --report=FILE         writes FILE.html and FILE.json
Scenarios:
${SCENARIOS.map(({ name, promise }) => `  ${name.padEnd(20)}  ${promise}`).join("\n")}
`;

const OPTIONS = {
  replicas: { type: "string", default: "3" },
  "etcd-members": { type: "string", default: "3" },
  scenario: { type: "string", multiple: true, default: [] as string[] },
  writers: { type: "string", default: "40" },
  readers: { type: "string", default: "100" },
  watchers: { type: "string", default: "60" },
  "think-ms": { type: "string", default: "400" },
  report: { type: "string", default: "" },
  help: { type: "boolean", default: false },
} as const;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const unknown = values.scenario.filter((name) => !isScenario(name));
  if (unknown.length > 0) {
    const known = SCENARIOS.map(({ name }) => name).join(", ");
    process.stderr.write(`no scenario is called ${unknown.join(", ")}: all, ${known}\n`);
    process.exitCode = 1;
    return;
  }
  const wanted = values.scenario.flatMap(toScenarios);
  const size = {
    writers: Number(values.writers),
    readers: Number(values.readers),
    watchers: Number(values.watchers),
    thinkMs: Number(values["think-ms"]),
  };
  const begun = performance.now();
  await using topology = await startTopology({
    replicas: Number(values.replicas),
    etcdMembers: Number(values["etcd-members"]),
  });
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  process.stdout.write(
    `${describe(topology)}, ready after ${seconds} s\n${topology.prometheus === undefined ? "" : `Prometheus: ${topology.prometheus.url}\n`}\n  export KUBECONFIG=${topology.kubeconfigPath}\n\n`,
  );
  if (wanted.length === 0) {
    // Signals alone do not keep a process alive.
    const alive = setInterval(() => {}, 60_000);
    await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
    clearInterval(alive);
    return;
  }
  const view = openView(topology, process.stdout, wanted.length);
  const reports: ScenarioReport[] = [];
  for (const scenario of wanted) {
    if (scenario.needs === "rooms" && topology.cluster.whyNoRooms !== undefined) {
      process.stdout.write(`left out ${scenario.name}: ${topology.cluster.whyNoRooms}\n`);
      continue;
    }
    const report = await runScenario(topology, scenario, size, (progress) =>
      view.progress(progress),
    );
    reports.push(report);
    view.done(report);
  }
  if (reports.some(({ broken }) => broken.length > 0)) process.exitCode = 1;
  if (values.report === "") return;
  const facts = {
    title: "Keelson, with faults",
    topology: describe(topology),
    load: `${size.writers} writers, ${size.readers} readers and ${size.watchers} watchers, each with a connection through the balancer and about ${size.thinkMs} ms between two requests`,
  };
  await writeFile(`${values.report}.html`, toHtmlReport(facts, reports));
  await writeFile(`${values.report}.json`, toJsonReport(facts, reports));
  process.stdout.write(`${values.report}.html\n`);
}

function isScenario(name: string): boolean {
  return name === "all" || SCENARIOS.some((scenario) => scenario.name === name);
}

function toScenarios(name: string): readonly Scenario[] {
  return name === "all" ? SCENARIOS : [findScenario(name)];
}

await main();
// Faults may have left sockets behind that Node.js would wait for.
process.exit();
