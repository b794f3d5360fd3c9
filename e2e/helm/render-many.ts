/**
 * Many renderings of the chart by one process of Helm: a chart that has it as a dependency again and again, each time under another
 * name and with other values. A third of the time of a process for each, and every case has the release's and the namespace's name.
 */
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { makeTempDir } from "../harness/temp-dir.js";
import { CHART, type HelmName, runHelm, type Values } from "./chart.js";

/** The chart's own version does not matter here. */
const ANY_VERSION = ">=0.0.0-0";

/**
 * The manifests of each case, as text, by its name.
 * @param cases names are lower case letters, digits and dashes
 * @throws {Error} with what Helm complains about
 */
export async function renderMany(
  helm: HelmName,
  cases: Readonly<Record<string, Values>>,
): Promise<Map<string, string>> {
  await using folder = await makeTempDir("charts");
  await mkdir(join(folder.path, "charts"));
  await cp(CHART, join(folder.path, "charts", "keelson"), { recursive: true });
  const names = Object.keys(cases);
  const dependencies = names.map((alias) => ({ name: "keelson", version: ANY_VERSION, alias }));
  const chart = { apiVersion: "v2", name: "all", version: "0.0.0", dependencies };
  await folder.write("Chart.yaml", stringify(chart));
  // As the chart calls itself when it is not a dependency.
  const asItself = { nameOverride: "keelson" };
  const values = Object.fromEntries(
    names.map((name) => [name, toTree({ ...asItself, ...cases[name] })]),
  );
  await folder.write("values.yaml", JSON.stringify(values));
  const args = ["template", "demo", folder.path, "--namespace", "keelson"];
  const { code, stdout, stderr } = await runHelm(helm, args);
  if (code !== 0) throw new Error(stderr);
  const texts = new Map(names.map((name) => [name, ""]));
  for (const document of stdout.split(/^---\n(?=# Source: )/m)) {
    const [, name] = /^# Source: all\/charts\/([^/]+)\//.exec(document) ?? [];
    if (name !== undefined) texts.set(name, `${texts.get(name)}---\n${document}`);
  }
  return texts;
}

/** "a.b" -> value, as a values file has it. */
export function toTree(values: Values): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    let at = tree;
    for (const key of keys) {
      at[key] ??= {};
      at = at[key] as Record<string, unknown>;
    }
    at[last] = value;
  }
  return tree;
}
