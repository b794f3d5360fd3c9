/**
 * The rules of the built-in kinds, as a table: kind-rules.tsv. A row is one cause that kube-apiserver tells of one
 * change of a valid object, with a change that it takes. The table is learned from a server (`learn-rules.ts`) and held
 * by `e2e/kind-rules.test.ts`: the test of a rule is its pair.
 *
 *   kind     verbs          cause                                                beside  breaks     keeps
 *   v1/pods  create,update  spec.dnsPolicy: FieldValueRequired: Required value   0       path=JSON  path=JSON
 *
 * "beside" is how many other causes the breaking change has when the first verb makes it; "keeps" is "-" where the
 * unchanged object is the pair.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer, HttpsClient } from "../harness/https-client.js";
import { causeText } from "./group-differences.js";
import { type Change, changed, type Json } from "./one-change.js";
import { renamed, SUBJECTS, type Subject } from "./questions.js";

export type Verb = "create" | "update" | "status";

export interface KindRule {
  /** "apps/v1/deployments" */
  readonly kind: string;
  readonly verbs: readonly Verb[];
  /** The cause, without values and indexes. */
  readonly cause: string;
  readonly beside: number;
  readonly breaks: Change;
  /** Absent = the unchanged object. */
  readonly keeps?: Change | undefined;
}

export function readRules(folder: string): readonly KindRule[] {
  const lines = readFileSync(join(folder, "e2e/compare/kind-rules.tsv"), "utf8").split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#")).map(parseRule);
}

function parseRule(line: string): KindRule {
  const [kind = "", verbs = "", cause = "", beside, breaks = "", keeps = "-"] = line.split("\t");
  return {
    kind,
    verbs: verbs.split(",") as Verb[],
    cause,
    beside: Number(beside),
    breaks: parseChange(breaks),
    keeps: keeps === "-" ? undefined : parseChange(keeps),
  };
}

export function ruleLine({ kind, verbs, cause, beside, breaks, keeps }: KindRule): string {
  const kept = keeps === undefined ? "-" : changeText(keeps);
  return [kind, verbs.join(","), cause, beside, changeText(breaks), kept].join("\t");
}

/** The longest value that is asked about stands in the table as {long}. */
const LONG = "a".repeat(300);

function parseChange(text: string): Change {
  const at = text.indexOf("=");
  const json = text.slice(at + 1).replaceAll("{long}", LONG);
  return { path: text.slice(0, at), value: json === "" ? undefined : JSON.parse(json) };
}

function changeText({ path, value }: Change): string {
  const json = value === undefined ? "" : JSON.stringify(value);
  return `${path}=${json.replaceAll(LONG, "{long}")}`;
}

export function subjectOf(kind: string): Subject | undefined {
  return SUBJECTS.find((subject) => kindOf(subject) === kind);
}

/** "apps/v1/deployments", "v1/pods" */
export function kindOf({ resource: { group, version, resource } }: Subject): string {
  const prefix = group === "" ? "" : `${group.split(".")[0]}/`;
  return `${prefix}${version}/${resource}`;
}

/** Asks a server about an object with a change, or about the unchanged one. */
export async function judgeChange(
  client: HttpsClient,
  subject: Subject,
  verb: Verb,
  change: Change | undefined,
): Promise<Answer> {
  const { collection, name, object, status = {} } = subject;
  const edit = (one: Json) => (change === undefined ? one : changed(one, change));
  const headers = { "content-type": "application/json" };
  if (verb === "create") {
    const body = renamed(subject, edit(object), 0);
    return await client.request(`${collection}?dryRun=All`, { method: "POST", headers, body });
  }
  const one = `${collection}/${name}`;
  const stored = { ...(await client.get(one)).object } as Json;
  const [path, before] =
    verb === "status" ? [`${one}/status`, { ...stored, status }] : [one, stored];
  const body = edit(before);
  return await client.request(`${path}?dryRun=All`, { method: "PUT", headers, body });
}

/** The causes of a refusal, without values and indexes. */
export function causesIn(answer: Answer): readonly string[] {
  if (answer.status !== 422) return [];
  const { details } = answer.object as { details?: { causes?: readonly object[] } };
  return (details?.causes ?? []).map((cause) => causeText(JSON.stringify(cause)));
}
