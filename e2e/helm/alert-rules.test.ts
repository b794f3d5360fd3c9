/**
 * Every alert of the chart, tried twice by promtool: it fires for the release that has the fault, with that
 * release's names, and stays silent while two releases under one Prometheus are healthy.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { makeTempDir } from "../harness/temp-dir.js";
import { findTool } from "../tools/find-tool.js";
import { FAULTS, type Fault, HEALTHY } from "./alert-series.js";
import { CHART } from "./chart.js";

const RULES = join(CHART, "files", "alerts.yaml");
const run = promisify(execFile);

interface Rule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
}

const WELL = { namespace: "prod", release: "main" };
const FAULTY = { namespace: "staging", release: "try" };
/** Of each release: the first of the faulty one has the fault, and where all must have it, the second too. */
const INSTANCES = ["10.0.0.1:1", "10.0.0.2:1"] as const;

interface Series {
  readonly series: string;
  readonly values: string;
}

/** `metric{job="keelson"}` with further labels. */
function toSeries(name: string, values: string, labels: Readonly<Record<string, string>>): Series {
  const more = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return { series: name.replace(/\}$/, `,${more.join(",")}}`), values };
}

/** Everybody is well, but for what a fault says. */
function seriesWith({ series, isOfAll = false }: Pick<Fault, "series" | "isOfAll">): Series[] {
  return [WELL, FAULTY].flatMap((release) =>
    INSTANCES.flatMap((instance, index) => {
      const isFaulty = release === FAULTY && (index === 0 || isOfAll);
      const all = isFaulty ? { ...HEALTHY, ...series } : HEALTHY;
      return Object.entries(all).map(([name, values]) =>
        toSeries(name, values, { ...release, instance }),
      );
    }),
  );
}

function expectedOf({ labels }: Rule, fault: Fault) {
  const { says, about = "instance", isOfAll = false, more = {} } = fault;
  const instances = about === "instance" && isOfAll ? INSTANCES : INSTANCES.slice(0, 1);
  return instances.map((instance) => ({
    exp_labels: {
      ...labels,
      ...(about === "nothing" ? {} : FAULTY),
      ...(about === "instance" ? { instance } : {}),
      ...more,
    },
    exp_annotations: { summary: says.replace("INSTANCE", instance) },
  }));
}

test("P6: every alert fires by its fault for the release that has it, and is silent while two are healthy", {
  skip: (await findTool("prometheus")) === undefined && "Prometheus is not to be had",
}, async (t) => {
  const promtool = await findPromtool();
  if (promtool === undefined) return t.skip("promtool is not beside Prometheus");
  const { groups } = parse(await readFile(RULES, "utf8"));
  const rules: Rule[] = groups.flatMap(({ rules: all }: { rules: Rule[] }) => all);
  const names = rules.map(({ alert }) => alert);
  assert.deepEqual(Object.keys(FAULTS).sort(), [...names].sort(), "each alert has a fault");
  const tests = rules.map((rule) => {
    const fault = FAULTS[rule.alert] ?? assert.fail(rule.alert);
    const check = { eval_time: "45m", alertname: rule.alert, exp_alerts: expectedOf(rule, fault) };
    const input_series = seriesWith(fault);
    return { name: rule.alert, interval: "15s", input_series, alert_rule_test: [check] };
  });
  const silent = names.map((alertname) => ({ eval_time: "45m", alertname, exp_alerts: [] }));
  const input_series = seriesWith({ series: {} });
  tests.push({ name: "healthy", interval: "15s", input_series, alert_rule_test: silent });
  await using folder = await makeTempDir("alerts");
  const file = await folder.write(
    "tests.yaml",
    JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }),
  );
  await run(promtool, ["test", "rules", file], { maxBuffer: 64 * 2 ** 20 }).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) =>
      assert.fail(`${stdout}${stderr}`.slice(0, 8_000)),
  );
  t.diagnostic(`${rules.length} alerts`);
});

async function findPromtool(): Promise<string | undefined> {
  const prometheus = (await findTool("prometheus")) ?? "";
  const beside = [join(dirname(prometheus), "..", "prometheus", "usr", "bin"), dirname(prometheus)];
  return beside.map((folder) => join(folder, "promtool")).find((path) => existsSync(path));
}
