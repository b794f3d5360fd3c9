/** Running Helm on the chart: what it renders, as objects. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { isLong } from "../harness/is-long.js";
import { findTool, repositoryRoot } from "../tools/find-tool.js";

export const REPOSITORY = repositoryRoot();
export const CHART = join(REPOSITORY, "helm", "keelson");

export const HELMS = ["helm-3", "helm-4"] as const;
export type HelmName = (typeof HELMS)[number];

/** For tests that take long: the newest; the long run takes each. */
export const HELMS_OF_SLOW_TESTS: readonly HelmName[] = isLong ? HELMS : ["helm-4"];

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a template rendered: read with as much of its type as a test needs. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  // biome-ignore lint/suspicious/noExplicitAny: every kind has fields of its own, and a test that reads a wrong one fails
  readonly [field: string]: any;
}

/** "a.b" -> value. */
export type Values = Readonly<
  Record<string, string | number | boolean | readonly unknown[] | Readonly<Record<string, unknown>>>
>;

export interface HelmRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whether Helm is there; a test that needs it is skipped with this reason where it is not. */
export async function missingHelm(name: HelmName): Promise<string | false> {
  return (await findTool(name)) === undefined
    ? `${name} is not to be had: see e2e/install-tools.sh`
    : false;
}

export async function runHelm(
  name: HelmName,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<HelmRun> {
  const path = await findTool(name);
  if (path === undefined) throw new Error(`${name} is not there`);
  return await new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 };
    execFile(path, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}

export function toSetFlags(values: Values): string[] {
  return Object.entries(values).flatMap(([path, value]) => [
    "--set-json",
    `${path}=${JSON.stringify(value)}`,
  ]);
}

/** @throws {Error} with what Helm complains about */
export async function renderChart(
  name: HelmName,
  values: Values,
  { release = "demo", namespace = "keelson" } = {},
): Promise<Rendered[]> {
  const args = ["template", release, CHART, "--namespace", namespace, ...toSetFlags(values)];
  const { code, stdout, stderr } = await runHelm(name, args);
  if (code !== 0) throw new Error(`helm template ${JSON.stringify(values)}: ${stderr}`);
  return parseManifests(stdout);
}

export function parseManifests(text: string): Rendered[] {
  const rendered: Rendered[] = [];
  for (const document of parseAllDocuments(text, { uniqueKeys: true })) {
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    const object: unknown = document.toJS();
    if (object !== null && object !== undefined) rendered.push(object as Rendered);
  }
  return rendered;
}
