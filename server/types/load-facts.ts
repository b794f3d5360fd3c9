/**
 * Loads the facts of the built-in types (server/types/facts, explained in docs/dev/facts.md) and returns
 * the schema model and the tables made from them. Runs once at start; wiring passes the result on.
 * Nothing here knows a single kind: all content comes from the files.
 *
 * The files use the names of the default vendor. For another vendor the text is rewritten before it
 * is parsed, so that groups, label keys, finalizers and constants all have its spelling.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { JsonValue } from "../api/meta.js";
import { formatGroupVersion, type GroupVersion, parseGroupVersion } from "../api/names.js";
import { DEFAULT_VENDOR, type Naming } from "../api/naming.js";
import { parseLifecycle } from "../schema/lifecycle.js";
import type {
  DefaultFact,
  Facts,
  GroupVersionFact,
  ModelFile,
  ResourceFact,
  SchemaModel,
  StructType,
  Words,
} from "../schema/model.js";
import { parseBuiltins, parseTypes } from "./parse-types.js";
import { createWords } from "./words.js";

const FACTS = new URL("./facts/", import.meta.url);

/** @throws {SyntaxError} when a file of facts is damaged, with file and line */
export function loadFacts(naming: Naming): Facts {
  const read = (name: string) => inSpellingOf(naming, readFileSync(new URL(name, FACTS), "utf8"));
  const files = new Map<string, ModelFile>();
  for (const name of readdirSync(FACTS).sort()) {
    const base = /^(\w+\.\w+)\.types$/.exec(name)?.[1];
    if (base !== undefined) files.set(base, Object.freeze(parseTypes(base, read(name))));
  }
  const words = createWords((text) => inSpellingOf(naming, text));
  const model = createModel(files, read("builtins.types"), words);
  return Object.freeze({
    model,
    resources: Object.freeze(
      rowsOf(read("resources.tsv"))
        .map((row) => toResource(naming, row))
        .map(withLifecycle(model, rowsOf(read("lifecycles.tsv")))),
    ),
    groupVersions: Object.freeze(rowsOf(read("groups.tsv")).map(toGroupVersion)),
    defaults: Object.freeze(rowsOf(read("defaults.tsv")).map(toDefault)),
  });
}

function createModel(
  files: ReadonlyMap<string, ModelFile>,
  builtins: string,
  words: Words,
): SchemaModel {
  const byGroupVersion = new Map<string, ModelFile>();
  for (const file of files.values()) byGroupVersion.set(formatGroupVersion(file), file);
  return Object.freeze({
    words,
    files,
    builtins: parseBuiltins(builtins),
    type(id: string) {
      const dot = id.lastIndexOf(".");
      return files.get(id.slice(0, dot))?.types.get(id.slice(dot + 1));
    },
    kind(group: string, version: string, kind: string): StructType | undefined {
      const type = byGroupVersion.get(formatGroupVersion({ group, version }))?.types.get(kind);
      return type?.form === "struct" && (type.isKind || type.isOptions) ? type : undefined;
    },
  });
}

/** The facts' text with the default vendor's names replaced by another's (ruling C-01). */
function inSpellingOf(naming: Naming, text: string): string {
  if (naming.vendor === DEFAULT_VENDOR) return text;
  return text
    .replaceAll(/\bk8s\.io\b/g, naming.groupDomain)
    .replaceAll(/\bkubernetes\.io\b/g, naming.labelDomain)
    .replaceAll(/\bio\.k8s\./g, `io.${naming.vendor}.`)
    .replaceAll('"kube-system"', JSON.stringify(naming.systemNamespace))
    .replaceAll('"kube-public"', JSON.stringify(naming.publicNamespace))
    .replaceAll('"kube-node-lease"', JSON.stringify(naming.nodeLeaseNamespace))
    .replaceAll("/kube-apiserver-client", `/${naming.vendor}-apiserver-client`)
    .replaceAll('"kubernetes.kubeconfig"', `"${naming.vendor}.kubeconfig"`)
    .replaceAll(
      "known FinalizerName = kubernetes",
      `known FinalizerName = ${naming.namespaceFinalizer}`,
    );
}

/** Rows of a table: the first line that is not a comment names the columns. */
function rowsOf(text: string): ((column: string) => string)[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const columns = new Map((lines[0] ?? "").split("\t").map((name, index) => [name, index]));
  return lines.slice(1).map((line) => {
    const cells = line.split("\t");
    return (column) => cells[columns.get(column) ?? -1] ?? "";
  });
}

type Row = (column: string) => string;

const orEmpty = (cell: string) => (cell === "-" ? "" : cell);
const listOf = (cell: string) => (cell === "-" ? [] : cell.split(","));

function toResource(naming: Naming, row: Row): ResourceFact {
  const [resource = "", subresource = ""] = row("name").split("/");
  const kindParts = row("kind").split("/");
  const kind = kindParts.at(-1) ?? "";
  const kindGroupVersion = parseGroupVersion(kindParts.slice(0, -1).join("/"));
  const stored = row("stored") === "-" ? undefined : parseGroupVersion(row("stored"));
  return Object.freeze({
    group: orEmpty(row("group")),
    version: row("version"),
    resource,
    subresource,
    singular: orEmpty(row("singular")),
    kind,
    ...(kindGroupVersion === undefined ? {} : { kindGroupVersion }),
    namespaced: row("scope") === "Namespaced",
    verbs: listOf(row("verbs")),
    shortNames: listOf(row("short")),
    categories: listOf(row("categories")),
    onByDefault: row("default") === "on",
    ...(stored === undefined ? {} : { stored }),
    storageVersionHash:
      stored === undefined || naming.vendor === DEFAULT_VENDOR
        ? orEmpty(row("hash"))
        : storageVersionHash(stored, kind),
  });
}

/** The life cycle of the row's kind: from the table if it has one, else from the type. */
function withLifecycle(model: SchemaModel, rows: readonly Row[]) {
  const known = new Map(
    rows.map((row) => [keyOf(orEmpty(row("group")), row("version"), row("kind")), row]),
  );
  return (fact: ResourceFact): ResourceFact => {
    const { group, version } = fact.kindGroupVersion ?? fact;
    const row = known.get(keyOf(group, version, fact.kind));
    const attributes =
      row === undefined
        ? model.kind(group, version, fact.kind)?.attributes
        : {
            introduced: orEmpty(row("introduced")),
            deprecated: orEmpty(row("deprecated")),
            removed: orEmpty(row("removed")),
            use: orEmpty(row("use")),
          };
    const lifecycle = parseLifecycle(attributes ?? {});
    return lifecycle === undefined ? fact : Object.freeze({ ...fact, lifecycle });
  };
}

function keyOf(group: string, version: string, kind: string): string {
  return `${group}/${version}/${kind}`;
}

/** Lets clients compare the stored form of two versions: base64 of 8 bytes of a SHA-256. */
export function storageVersionHash(stored: GroupVersion, kind: string): string {
  const text = `${stored.group}/${stored.version}/${kind}`;
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}

function toGroupVersion(row: Row): GroupVersionFact {
  const priority = (column: string) => Number.parseInt(row(column).replace("~", ""), 10);
  const [groupPriority, versionPriority] = [priority("groupPriority"), priority("versionPriority")];
  return Object.freeze({
    group: orEmpty(row("group")),
    version: row("version"),
    stability: row("stability") as GroupVersionFact["stability"],
    onByDefault: row("default") === "on",
    ...(Number.isNaN(groupPriority) ? {} : { groupPriority }),
    ...(Number.isNaN(versionPriority) ? {} : { versionPriority }),
  });
}

function toDefault(row: Row): DefaultFact {
  const text = row("default");
  return Object.freeze({
    file: row("file"),
    type: row("type"),
    field: row("field"),
    value: text.startsWith("(") ? undefined : (JSON.parse(text) as JsonValue),
    text,
    when: row("when"),
  });
}
