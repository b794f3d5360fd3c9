/**
 * `keelson explain-admission`: writes as dry runs on a server and shows what the rules that users bring had
 * to say to each (docs/use/admission.md). Run by main; reads the client's configuration, changes nothing.
 */
import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import type { JsonObject } from "../api/meta.js";
import { parseYaml } from "../codec/yaml.js";
import { splitYamlDocuments } from "../codec/yaml-documents.js";
import type { ExplainOptions } from "../config/explain-options.js";
import { connect } from "./connect.js";
import { DryRuns } from "./dry-runs.js";
import { type Explained, formatExplanations } from "./format-explanations.js";

/** @returns the exit status. @throws {Error} nobody could be asked, in one line */
export async function explainAdmission(
  options: ExplainOptions,
  signal: AbortSignal,
): Promise<{ readonly output: string; readonly exitCode: number }> {
  const objects = readObjects(await readSource(options.file));
  const client = await connect(options, "keelson-explain-admission");
  try {
    const dryRuns = new DryRuns(client, options);
    const explained: Explained[] = [];
    for (const object of objects) explained.push(await dryRuns.explain(object, signal));
    const output =
      options.output === "json"
        ? `${JSON.stringify({ kind: "AdmissionExplanationList", items: explained }, null, 2)}\n`
        : formatExplanations(explained);
    const isRefused = explained.some(({ status }) => status !== undefined);
    return { output, exitCode: isRefused ? 1 : 0 };
  } finally {
    client.close();
  }
}

async function readSource(file: string): Promise<string> {
  return file === "-" ? await textOf(process.stdin) : await readFile(file, "utf8");
}

/** The objects of all documents; lists are their items. @throws {Error} */
function readObjects(text: string): readonly JsonObject[] {
  const objects = splitYamlDocuments(text).flatMap((document) => {
    const { value } = parseYaml(document);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new Error("the file holds something that is no object");
    }
    return value.kind === "List" ? ((value.items ?? []) as JsonObject[]) : [value];
  });
  if (objects.length === 0) throw new Error("the file holds no object");
  return objects;
}
