/**
 * A whole installation with faults, for a minute: behind HAProxy, with the flags and the configuration
 * that people use. The long run is `npm run test:long`.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { eventually } from "../harness/eventually.js";
import { isLong } from "../harness/is-long.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { findTool } from "../tools/find-tool.js";
import { toHtmlReport, toJsonReport } from "./report.js";
import { type LoadSize, runScenario, type ScenarioReport } from "./run-scenario.js";
import { findScenario, SCENARIOS, type Scenario } from "./scenarios.js";
import { startTopology, type Topology } from "./topology.js";
import { describe } from "./view.js";

const skip = (await findTool("haproxy")) === undefined && "HAProxy is not to be had";
const SIZE: LoadSize = isLong
  ? { writers: 40, readers: 100, watchers: 60, thinkMs: 400 }
  : { writers: 10, readers: 20, watchers: 15, thinkMs: 300 };
const NAMES = isLong
  ? SCENARIOS.map(({ name }) => name)
  : ["rolling-restart", "etcd-leader-killed"];
const CALM_BEFORE_SECONDS = 1;
const FACTS = { title: "Keelson, with faults", topology: "", load: JSON.stringify(SIZE) };

/** One installation for all tests of this file. */
const shared: { topology?: Topology } = {};
const reports: ScenarioReport[] = [];

before(async () => {
  const rooms = isLong;
  if (skip === false) shared.topology = await startTopology({ prometheus: isLong, rooms });
});
after(async () => {
  await shared.topology?.[Symbol.asyncDispose]();
});

for (const name of NAMES) {
  const scenario = isLong ? findScenario(name) : quicken(findScenario(name));
  test(`CARD-07, CARD-09: ${scenario.promise}`, { skip }, async (t) => {
    const topology = theTopology();
    if (scenario.needs === "rooms" && topology.cluster.whyNoRooms !== undefined) {
      t.skip(topology.cluster.whyNoRooms);
      return;
    }
    const report = await runScenario(topology, scenario, SIZE);
    reports.push(report);
    const { result, recoverySeconds, broken, connections } = report;
    t.diagnostic(
      `${result.operations} requests, ${result.failures} failed, ${result.events} events, ${result.relists} relists, recovered after ${recoverySeconds?.toFixed(1)} s, connections ${connections}`,
    );
    assert.deepEqual(broken, []);
  });
}

test("CARD-07: connections are spread after a rolling restart, by GOAWAY and the balancer", {
  skip,
}, async (t) => {
  const topology = theTopology();
  const clients = Array.from({ length: 60 }, () => topology.newClient());
  const share = async () => {
    const counts = (await topology.balancer?.connections()) ?? [];
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    return { counts, spread: Math.max(...counts.map((count) => Math.abs(count - mean))) / mean };
  };
  try {
    const ask = () =>
      Promise.all(clients.map((client) => client.get("/version").catch(() => undefined)));
    await ask();
    await topology.replicas[0]?.stop();
    topology.replicas[0]?.start();
    await topology.replicas[0]?.waitUntilReady();
    const { counts } = await eventually(
      "connections are within a tenth of their mean",
      async () => {
        await ask();
        const now = await share();
        return now.spread <= 0.1 && now;
      },
    );
    t.diagnostic(`connections by replica: ${counts}`);
  } finally {
    for (const client of clients) client.close();
  }
});

test("the report is one page, whose plots a browser draws in the long run", { skip }, async (t) => {
  await using folder = await makeTempDir("report");
  const facts = { ...FACTS, topology: describe(theTopology()) };
  const html = toHtmlReport(facts, reports);
  assert.doesNotMatch(html, /<(?:link|img|script src)|url\(/);
  assert.equal(JSON.parse(toJsonReport(facts, reports)).reports.length, reports.length);
  const file = await folder.write("report.html", html);
  if (!isLong) return;
  const chromium = await findTool("chromium");
  if (chromium === undefined) {
    t.skip("Chromium is not to be had: the page was not opened");
    return;
  }
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    `--user-data-dir=${folder.path}/profile`,
  ];
  const { stdout } = await promisify(execFile)(
    chromium,
    [...flags, "--dump-dom", `file://${file}`],
    {
      maxBuffer: 64 * 2 ** 20,
    },
  );
  const drawn = Number(/data-drawn="(\d+)"/.exec(stdout)?.[1]);
  // Requests and latency have two lines each, lateness one; a line without a failure is flat, and long.
  assert.equal(drawn, reports.length * 5);
});

/** The same faults without calm around them: only their end and what follows are waited for. */
function quicken(scenario: Scenario): Scenario {
  const [first, ...rest] = scenario.steps;
  const steps = first === undefined ? [] : [{ ...first, at: CALM_BEFORE_SECONDS }, ...rest];
  return { ...scenario, seconds: 0, steps };
}

function theTopology(): Topology {
  if (shared.topology === undefined) throw new Error("the installation has not started");
  return shared.topology;
}
