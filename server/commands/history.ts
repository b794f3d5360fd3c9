/**
 * `keelson history` and `keelson diff`: the versions of an object that the store still keeps, by GETs of exact
 * versions. The version before one of revision r is the state at r - 1, whose own revision says where to go on.
 * Who wrote one the recorder is asked, as by `keelson blame`; it alone knows when a deleted object went.
 */
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { HttpsClient } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
import type { HistoryOptions } from "../config/history-options.js";
import { connect } from "../explain/connect.js";
import type { RecordedWrite } from "../recorder/record-types.js";
import { type Authors, authorOf, authorsOf } from "./authors-of.js";
import { compareObjects } from "./compare-objects.js";
import { printableLine } from "./printable.js";
import { type RecordedWrites, readRecordedWrites } from "./recorded-writes.js";
import { askServer, findResource, listResources, pathOf, reasonOf } from "./server-resources.js";

const VALUE_CHARS_MAX = 200;
const PATHS_SHOWN_MAX = 8;

/** @returns what is printed. @throws {Error} the object is not there, or the server cannot be asked */
export async function showHistory(options: HistoryOptions, signal: AbortSignal): Promise<string> {
  return await withVersions(options, signal, async (versions, readRecorded) => {
    const recorded = await readRecorded();
    const { last, deletion } = await newestOf(versions, recorded);
    const entries: Entry[] = deletion === undefined ? [] : [entryOfDeletion(deletion, recorded)];
    let current = last;
    while (current !== undefined && entries.length < options.limit) {
      const before: JsonObject | undefined = await versions.before(current);
      const isFirst = before === undefined && !versions.isGone;
      const paths =
        before === undefined ? [] : compareObjects(before, current).map(({ path }) => path);
      const authors = authorsOf(before, current, recorded);
      const isKept = before !== undefined;
      const what = { isFirst, isKept, isDeletion: false, changedPaths: paths };
      entries.push({ revision: versionOf(current), ...authors, ...what });
      current = before;
    }
    if (options.form === "json") return jsonOf({ kind: "History", versions: entries });
    const lines = entries.map((entry) => {
      return [entry.revision, entry.time.replace(/\.\d+Z$/, "Z"), entry.who, changed(entry)];
    });
    return columns([["VERSION", "TIME", "WHO", "CHANGED"], ...lines]);
  });
}

/** A version, as `-o json` has it. */
interface Entry extends Authors {
  readonly revision: string;
  /** Whether it is the creation. */
  readonly isFirst: boolean;
  /** Whether the object went; all before it is of what it was until then. */
  readonly isDeletion: boolean;
  /** Whether the version before is kept. */
  readonly isKept: boolean;
  /** Those that differ from the version before. */
  readonly changedPaths: readonly string[];
}

interface Newest {
  /** The current version, or that before the deletion; undefined = it is not kept any more. */
  readonly last: JsonObject | undefined;
  readonly deletion: RecordedWrite | undefined;
}

/** @throws {Error} the object is not there, and that it was is not recorded */
async function newestOf(versions: Versions, { writes }: RecordedWrites): Promise<Newest> {
  const current = await versions.readCurrent();
  if (!("missing" in current)) return { last: current.object, deletion: undefined };
  const deletion = writes.findLast(({ outcome }) => outcome === "deleted");
  if (deletion === undefined) throw new Error(current.missing);
  return { last: await versions.read(String(Number(deletion.revision) - 1)), deletion };
}

function entryOfDeletion(deletion: RecordedWrite, { clients }: RecordedWrites): Entry {
  const what = { isFirst: false, isKept: false, isDeletion: true, changedPaths: [] };
  return { revision: deletion.revision, ...authorOf(deletion, clients), ...what };
}

function jsonOf(answer: object): string {
  return `${stringifyJson(answer as JsonValue)}\n`;
}

/** @returns what is printed. @throws {Error} as above */
export async function showDiff(options: HistoryOptions, signal: AbortSignal): Promise<string> {
  return await withVersions(options, signal, async (versions, readRecorded) => {
    const to =
      options.to === undefined
        ? (await newestOf(versions, await readRecorded())).last
        : await versions.read(options.to);
    if (to === undefined && versions.isGone) throw new Error("no version of it is kept any more");
    if (to === undefined) throw new Error(`the object was not there at ${options.to}`);
    const from =
      options.from === undefined ? await versions.before(to) : await versions.read(options.from);
    if (versions.isGone) throw new Error("the version before is not kept any more");
    if (from === undefined) throw new Error("the object was not there before");
    const changes = compareObjects(from, to);
    if (options.form === "json") {
      return jsonOf({ kind: "Diff", from: versionOf(from), to: versionOf(to), changes });
    }
    const lines = changes.flatMap(({ path, before, after }) => [
      ...(before === undefined ? [] : [`- ${path}: ${shown(before)}`]),
      ...(after === undefined ? [] : [`+ ${path}: ${shown(after)}`]),
    ]);
    return [`--- ${versionOf(from)}`, `+++ ${versionOf(to)}`, ...lines, ""]
      .map(printableLine)
      .join("\n");
  });
}

async function withVersions(
  options: HistoryOptions,
  signal: AbortSignal,
  run: (versions: Versions, readRecorded: () => Promise<RecordedWrites>) => Promise<string>,
): Promise<string> {
  const client = await connect(options, "keelson-history");
  try {
    const resource = findResource(await listResources(client, signal), options.type);
    const path = pathOf(resource, options.namespace, options.name);
    return await run(new Versions(client, path, signal), () =>
      readRecordedWrites(client, resource, options, signal),
    );
  } finally {
    client.close();
  }
}

class Versions {
  readonly #client: HttpsClient;
  readonly #path: string;
  readonly #signal: AbortSignal;
  /** Whether a version that was asked for is not kept any more. */
  isGone = false;

  constructor(client: HttpsClient, path: string, signal: AbortSignal) {
    this.#client = client;
    this.#path = path;
    this.#signal = signal;
  }

  async readCurrent(): Promise<{ readonly object: JsonObject } | { readonly missing: string }> {
    const answer = await askServer(this.#client, { path: this.#path }, this.#signal);
    if (answer.status === 200) return { object: answer.value };
    if (answer.status === 404) return { missing: reasonOf(answer) };
    throw new Error(reasonOf(answer));
  }

  /** @returns undefined = there was none, or it is not kept */
  async read(version: string): Promise<JsonObject | undefined> {
    const path = `${this.#path}?resourceVersion=${version}&resourceVersionMatch=Exact`;
    const answer = await askServer(this.#client, { path }, this.#signal);
    if (answer.status === 200) {
      if (Number(versionOf(answer.value)) > Number(version)) {
        throw new Error("the server does not answer with exact versions: it is not Keelson");
      }
      return answer.value;
    }
    if (answer.status === 404) return undefined;
    if (answer.status !== 410) throw new Error(reasonOf(answer));
    this.isGone = true;
    return undefined;
  }

  async before(object: JsonObject): Promise<JsonObject | undefined> {
    const version = Number(versionOf(object)) - 1;
    if (version < 1) return undefined;
    const found = await this.read(String(version));
    // Another object had the name.
    return found !== undefined && uidOf(found) === uidOf(object) ? found : undefined;
  }
}

function changed({ isFirst, isKept, isDeletion, changedPaths: paths }: Entry): string {
  if (isDeletion) return "(deleted)";
  if (isFirst) return "(created)";
  if (!isKept) return "(what was before is not kept)";
  if (paths.length === 0) return "(ownership of fields)";
  const more = paths.length - PATHS_SHOWN_MAX;
  return paths.slice(0, PATHS_SHOWN_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function versionOf({ metadata }: JsonObject): string {
  return String((metadata as JsonObject | undefined)?.resourceVersion ?? "");
}

function uidOf({ metadata }: JsonObject): string {
  return String((metadata as JsonObject | undefined)?.uid ?? "");
}

function shown(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}...` : text;
}

function columns(lines: readonly (readonly string[])[]): string {
  const widths = [0, 1, 2].map((at) => Math.max(...lines.map((line) => (line[at] ?? "").length)));
  return lines
    .map((line) =>
      line
        .map(printableLine)
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("   ")
        .trimEnd(),
    )
    .join("\n")
    .concat("\n");
}
