/**
 * Words: descriptions of the built-in types and their fields, for `kubectl explain` and OpenAPI. The
 * facts have names and markers but no prose; the prose is ours, in `facts/words/<group>.words`, one
 * file for all versions of a group, and `common.words` for fields with the same meaning in many
 * types.
 *
 *     PodStatus: The observed state of a pod.         a type, by name; several with commas
 *       phase: Where the pod stands in its life.      a field of it
 *     *Condition:                                     all types whose names end so
 *
 * A type's own line wins over a pattern, a group's file over the common one. Files are read on
 * first use: a server without requests for OpenAPI never reads them.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { StructType, Words } from "../schema/model.js";

const WORDS = new URL("./facts/words/", import.meta.url);
const COMMON = "common";

/** The descriptions of one file. */
interface WordsFile {
  readonly types: ReadonlyMap<string, string>;
  /** By type name or pattern, then by field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** @param inSpelling rewrites a file's text into the vendor's names */
export function createWords(inSpelling: (text: string) => string): Words {
  const files = new Map<string, WordsFile | undefined>();
  const names = new Set(readdirSync(WORDS));
  const read = (group: string): WordsFile | undefined => {
    const name = `${group}.words`;
    if (!files.has(group)) {
      const text = names.has(name) ? readFileSync(new URL(name, WORDS), "utf8") : undefined;
      files.set(group, text === undefined ? undefined : parseWords(name, inSpelling(text)));
    }
    return files.get(group);
  };
  return Object.freeze({
    ofType: (type: StructType) => read(groupOf(type))?.types.get(type.name),
    ofField: (type: StructType, field: string) =>
      findField(read(groupOf(type)), type.name, field) ?? findField(read(COMMON), type.name, field),
  });
}

/** "core" of "core.v1". */
function groupOf({ file }: StructType): string {
  return file.slice(0, file.indexOf("."));
}

function findField(file: WordsFile | undefined, type: string, field: string): string | undefined {
  const own = file?.fields.get(type)?.get(field);
  if (own !== undefined || file === undefined) return own;
  for (const [pattern, fields] of file.fields) {
    if (pattern.startsWith("*") && type.endsWith(pattern.slice(1)) && fields.has(field)) {
      return fields.get(field);
    }
  }
  return undefined;
}

/** @throws {SyntaxError} with file and line, for an invalid line or a duplicate description */
export function parseWords(name: string, text: string): WordsFile {
  const types = new Map<string, string>();
  const fields = new Map<string, Map<string, string>>();
  let open: readonly string[] = [];
  text.split("\n").forEach((line, index) => {
    if (line === "" || line.startsWith("#")) return;
    const [, indent, heading = "", prose] = /^( {2})?([^:]+):(?: (.*))?$/.exec(line) ?? [];
    const fail = (why: string) => new SyntaxError(`${name}:${index + 1}: ${why}: ${line}`);
    if (heading === "") throw fail("neither a type nor a field");
    if (indent === undefined) {
      open = heading.split(", ");
      if (prose === undefined) return;
      for (const type of open) setOnce(types, type, prose, fail);
      return;
    }
    if (prose === undefined || open.length === 0) throw fail("a field without text or type");
    for (const type of open) {
      const known = fields.get(type) ?? new Map<string, string>();
      fields.set(type, known);
      setOnce(known, heading, prose, fail);
    }
  });
  return { types, fields };
}

function setOnce(
  texts: Map<string, string>,
  name: string,
  prose: string,
  fail: (why: string) => SyntaxError,
): void {
  if (texts.has(name)) throw fail("described twice");
  texts.set(name, prose);
}
