/**
 * Manifests: objects that are to be there at the start, from files, folders, YAML texts and values of a program.
 * Each is remembered with its place, for messages.
 */
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { oneLine } from "../../storage/base/one-line.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { jsonToText } from "../codec/json.js";
import { parseYaml, YamlSyntaxError } from "../codec/yaml.js";
import { splitYamlDocuments } from "../codec/yaml-documents.js";
import type { Manifest } from "./types.js";

export interface PlacedObject {
  /** "manifests/app.yaml, document 2" */
  readonly place: string;
  /** In its file: where its document begins. From 1. */
  readonly line: number;
  /** What the text says of keys that it has twice. */
  readonly duplicates: readonly string[];
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** "" = none is written. */
  readonly namespace: string;
  readonly object: JsonObject;
}

/** Told of a text that is no object. */
export type ProblemTaker = (place: string, why: string, line: number) => void;

export interface ReadOptions {
  /** In place of an end of the reading. */
  readonly onProblem?: ProblemTaker;
  /** Whether an object may have `generateName` in place of a name: where it is not to be found again. */
  readonly takesGeneratedNames?: boolean;
  /** What the path "-" stands for; without it that is a file. */
  readonly readStandardInput?: () => Promise<string>;
}

/** A file takes about a millisecond per KiB to read. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;
const BYTES_MAX = 32 * 1024 * 1024;
const OBJECTS_MAX = 10_000;
const FILES_MAX = 10_000;
const FOLDERS_DEEP_MAX = 32;

const STANDARD_INPUT = "-";
/** Its mark, read as UTF-8: redirections of older PowerShells write it. */
const UTF_16 = "\ufffd\ufffd";
const TEMPLATE = "{{";
const NAMES = /\.(?:ya?ml|json)$/;
/** What a server gives and does not take back, as in files that `kubectl get -o yaml` wrote. */
const OF_THE_SERVER = ["managedFields", "resourceVersion", "uid"];

/** @throws {Error} with one line that names file and document, unless `onProblem` takes it */
export async function readManifests(
  manifests: readonly Manifest[],
  options: ReadOptions = {},
): Promise<PlacedObject[]> {
  const reader = new ManifestReader(options);
  for (const [i, manifest] of manifests.entries()) {
    if (typeof manifest !== "string") reader.add(JSON.stringify(manifest), `manifests[${i}]`);
    else if (isText(manifest)) reader.add(manifest, `manifests[${i}]`);
    else await reader.addPath(manifest);
  }
  return reader.objects;
}

/** Whether it is the place of a file or folder. */
export function isPath(manifest: Manifest): manifest is string {
  return typeof manifest === "string" && !isText(manifest);
}

/** No path has a line break, or begins as JSON does. */
function isText(manifest: string): boolean {
  return /\n|^\s*\{/.test(manifest);
}

class ManifestReader {
  readonly objects: PlacedObject[] = [];
  #bytes = 0;
  #files = 0;
  readonly #onProblem: ProblemTaker;
  readonly #options: ReadOptions;

  constructor(options: ReadOptions) {
    this.#onProblem = options.onProblem ?? refuse;
    this.#options = options;
  }

  /** A file that is named is read whatever its name; of folders, those of YAML and JSON. */
  async addPath(path: string): Promise<void> {
    const { readStandardInput } = this.#options;
    if (path === STANDARD_INPUT && readStandardInput !== undefined) {
      this.add(await readStandardInput(), "standard input");
      return;
    }
    if (readable(path, () => statSync(path)).isDirectory()) this.#addFolder(path, 0);
    else this.#addFile(path);
  }

  #addFolder(folder: string, depth: number): void {
    if (depth > FOLDERS_DEEP_MAX) throw new Error(`manifests: ${folder}: too many levels`);
    const entries = readdirSync(folder, { withFileTypes: true });
    const visible = entries.filter(({ name }) => !name.startsWith("."));
    for (const entry of visible.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) this.#addFolder(path, depth + 1);
      else if (NAMES.test(entry.name)) {
        // Links to files are followed, as volumes of ConfigMaps have them; those to folders could be circles.
        if (entry.isFile() || readable(path, () => statSync(path)).isFile()) this.#addFile(path);
      }
    }
  }

  /** At once: waiting for the system would take longer than reading, and what is read is parsed on this thread anyway. */
  #addFile(path: string): void {
    if (++this.#files > FILES_MAX) throw new Error(`manifests: more than ${FILES_MAX} files`);
    const text = readable(path, () => {
      const file = openSync(path, "r");
      try {
        const { size } = fstatSync(file);
        if (size <= FILE_BYTES_MAX) return readFileSync(file, "utf8");
        throw new Error(`manifests: ${path}: ${size} bytes, more than ${FILE_BYTES_MAX}`);
      } finally {
        closeSync(file);
      }
    });
    this.add(text, path);
  }

  add(text: string, source: string): void {
    if (text.startsWith(UTF_16)) {
      this.#onProblem(source, "the text is UTF-16; UTF-8 is expected", 1);
      return;
    }
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > BYTES_MAX) throw new Error(`manifests: more than ${BYTES_MAX} bytes`);
    const documents = splitYamlDocuments(text);
    const lines = new LineCounter(text);
    let end = 0;
    for (const [i, document] of documents.entries()) {
      const place = documents.length > 1 ? `${source}, document ${i + 1}` : source;
      const begin = text.indexOf(document, end);
      end = begin + document.length;
      const before = lines.at(begin) - 1;
      // What is behind dashes begins with the end of their line.
      const line = lines.at(begin + document.search(/[^\r\n]/));
      for (const [value, duplicates] of this.#parse(document, place, before)) {
        if (value === null) continue;
        if (this.objects.length >= OBJECTS_MAX) {
          throw new Error(`manifests: ${place}: more than ${OBJECTS_MAX} objects`);
        }
        const named = this.#options.takesGeneratedNames === true ? withName(value) : value;
        const placed = toPlaced(named, { place, line, duplicates });
        if (typeof placed === "string") this.#onProblem(place, placed, line);
        else this.objects.push(placed);
      }
    }
  }

  /** @param before lines of the file before the document: what is said counts from the file's first */
  #parse(
    document: string,
    place: string,
    before: number,
  ): readonly (readonly [JsonValue, readonly string[]])[] {
    try {
      const { value, repeatedKeys } = parseYaml(document);
      const inFile = repeatedKeys.map((text) =>
        text.replace(/^line (\d+)/, (_, line) => `line ${Number(line) + before}`),
      );
      // Of a list they are told once.
      return itemsOf(value).map((item, i) => [item, i === 0 ? inFile : []]);
    } catch (error) {
      const at = error instanceof YamlSyntaxError ? error.at : undefined;
      // What is not closed is missed at the end.
      const within = Math.min(at ?? 0, document.trimEnd().length);
      const line = before + new LineCounter(document).at(within);
      const where = at === undefined ? "" : `line ${line}: `;
      const hint = document.includes(TEMPLATE)
        ? "; it seems to be a template: what `helm template` makes of it can be read"
        : "";
      this.#onProblem(place, `${where}${oneLine(error)}${hint}`, line);
      return [];
    }
  }
}

/** @throws {Error} that names the path, where the system refuses it */
function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Error(`manifests: cannot read ${JSON.stringify(path)} (${code})`);
  }
}

/** Lines of a text, asked for from its beginning to its end. */
class LineCounter {
  readonly #text: string;
  #line = 1;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** From 1. */
  at(place: number): number {
    for (;;) {
      const next = this.#text.indexOf("\n", this.#at);
      if (next === -1 || next >= place) return this.#line;
      this.#line++;
      this.#at = next + 1;
    }
  }
}

function refuse(place: string, why: string): never {
  throw new Error(`manifests: ${place}: ${why}`);
}

/** Of a List, and of a list of one kind as the API answers with it, whose items need not say what they are. */
function itemsOf(value: JsonValue): readonly JsonValue[] {
  if (!isObject(value) || !Array.isArray(value.items)) return [value];
  const { apiVersion, kind, metadata, items } = value;
  if (typeof kind !== "string" || !kind.endsWith("List")) return [value];
  if (kind === "List") return items.flatMap(itemsOf);
  if (isObject(metadata) && metadata.name !== undefined) return [value];
  const type = { apiVersion: apiVersion ?? null, kind: kind.slice(0, -"List".length) };
  return items.map((item) => (isObject(item) ? { ...type, ...item } : item));
}

/** As the server would name it. */
function withName(object: JsonValue): JsonValue {
  if (!isObject(object) || !isObject(object.metadata)) return object;
  const { name, generateName } = object.metadata;
  if (typeof generateName !== "string" || generateName === "" || name !== undefined) return object;
  return { ...object, metadata: { ...object.metadata, name: `${generateName}xxxxx` } };
}

/** @returns a text = why it is no object */
function toPlaced(
  object: JsonValue,
  found: Pick<PlacedObject, "place" | "line" | "duplicates">,
): PlacedObject | string {
  const lacks = (what: string) => `an object without ${what}`;
  const noText = (member: string, value: JsonValue) =>
    `metadata.${member} is ${oneLine(jsonToText(value))}, which is no text without quotes`;
  if (!isObject(object)) return "not an object";
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== "string" || apiVersion === "") return lacks("apiVersion");
  if (typeof kind !== "string" || kind === "") return lacks("kind");
  if (apiVersion.startsWith("kustomize.config.")) {
    return `a ${kind} is no object of an API: what \`kubectl kustomize\` makes of it can be read`;
  }
  const written = isObject(metadata) ? metadata : {};
  const { name } = written;
  // Charts leave it empty.
  const namespace = written.namespace ?? "";
  if ((name ?? "") === "") return lacks("metadata.name");
  if (typeof name !== "string") return noText("name", name ?? null);
  if (typeof namespace !== "string") return noText("namespace", namespace);
  const kept = Object.entries(written).filter(([key]) => !OF_THE_SERVER.includes(key));
  const applied = { ...object, metadata: Object.fromEntries(kept) };
  return { ...found, apiVersion, kind, name, namespace, object: applied };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
