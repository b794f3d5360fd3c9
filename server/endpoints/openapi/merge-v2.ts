/**
 * Merges the parts of other servers into the v2 document: their paths, with the definitions and shared
 * parameters that these refer to. Existing names stay; a definition that clashes with another of its name, or
 * refers to a clashing one, is renamed.
 *
 *   ours     Widget {size}, Meta        theirs   Widget {color, Meta}, Meta (the same)
 *   merged   Widget {size}, Meta, Widget_v2 {color, Meta}
 */
import { deepEqual } from "../../api/deep-equal.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { Entries, OpenApiDocument } from "./documents.js";
import type { SchemaObject } from "./schema-object.js";

/** The contribution of one group-version of another server; immutable. */
export interface RemoteSpec {
  readonly paths: ReadonlyMap<string, JsonObject>;
  readonly definitions: ReadonlyMap<string, JsonObject>;
  readonly parameters: ReadonlyMap<string, JsonObject>;
}

const KINDS = "x-kubernetes-group-version-kind";
const DEFINITIONS = "#/definitions/";
const PARAMETERS = "#/parameters/";

/**
 * The paths of a document below a prefix, with everything that they refer to.
 * @throws {Error} if it is not a v2 document
 */
export function partBelow(document: JsonValue, prefix: string): RemoteSpec {
  const { swagger, paths, definitions = {}, parameters = {} } = membersOf(document);
  if (swagger !== "2.0") throw new Error("not a document of OpenAPI v2");
  const kept = Object.entries(membersOf(paths)).filter(
    ([path]) => path === prefix.slice(0, -1) || path.startsWith(prefix),
  );
  const found = {
    paths: new Map(kept.map(([path, item]) => [path, membersOf(item)])),
    definitions: new Map<string, JsonObject>(),
    parameters: new Map<string, JsonObject>(),
  };
  const all = { definitions: membersOf(definitions), parameters: membersOf(parameters) };
  const waiting: JsonValue[] = [...found.paths.values()];
  const take = (kind: "definitions" | "parameters", name: string) => {
    if (found[kind].has(name) || !Object.hasOwn(all[kind], name)) return;
    const referred = membersOf(all[kind][name]);
    found[kind].set(name, referred);
    waiting.push(referred);
  };
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    for (const reference of referencesOf(value)) {
      if (reference.startsWith(DEFINITIONS)) {
        take("definitions", reference.slice(DEFINITIONS.length));
      } else if (reference.startsWith(PARAMETERS)) {
        take("parameters", reference.slice(PARAMETERS.length));
      }
    }
  }
  return found;
}

/** The document with those parts; earlier parts keep their names. */
export function mergeV2(document: OpenApiDocument, specs: readonly RemoteSpec[]): OpenApiDocument {
  if (specs.length === 0) return document;
  const paths = new Map<string, JsonObject>();
  const definitions = new Shared((name) => document.schemaOf(name) as JsonObject | undefined);
  const own = membersOf(document.head.parameters ?? {});
  const parameters = new Shared((name) =>
    Object.hasOwn(own, name) ? membersOf(own[name]) : undefined,
  );
  for (const spec of specs) {
    const names: Renamed = {
      [DEFINITIONS]: newNames(spec.definitions, definitions, DEFINITIONS),
      [PARAMETERS]: new Map(),
    };
    const renamed = (value: JsonObject) => renameIn(value, names) as JsonObject;
    names[PARAMETERS] = newNames(spec.parameters, parameters, PARAMETERS, renamed);
    add(spec.definitions, definitions, names[DEFINITIONS], renamed);
    add(spec.parameters, parameters, names[PARAMETERS], renamed);
    for (const [path, item] of spec.paths) {
      if (!paths.has(path)) paths.set(path, renamed(item));
    }
  }
  const allParameters = sorted(new Map([...Object.entries(own), ...parameters.added]));
  return {
    version: document.version,
    head: { ...document.head, parameters: Object.fromEntries(allParameters) },
    paths: withEntries(document.paths, paths, (ours) => ours),
    schemas: withEntries(
      document.schemas,
      definitions.added as ReadonlyMap<string, object>,
      (_, theirs) => theirs,
    ) as Entries<SchemaObject>,
    schemaOf: (name) => definitions.get(name) as SchemaObject | undefined,
  };
}

/** What was there, with what is added or said anew. */
class Shared {
  readonly added = new Map<string, JsonObject>();
  readonly #before: (name: string) => JsonObject | undefined;

  constructor(before: (name: string) => JsonObject | undefined) {
    this.#before = before;
  }

  get(name: string): JsonObject | undefined {
    return this.added.get(name) ?? this.#before(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}

/** Both in one order. @param choose which is meant where both have the name */
function withEntries<Value>(
  entries: Entries<Value>,
  added: ReadonlyMap<string, Value>,
  choose: (ours: Value, theirs: Value) => Value,
): Entries<Value> {
  return {
    async *[Symbol.asyncIterator]() {
      const waiting = sorted(added);
      let at = 0;
      for await (const [name, ours] of entries) {
        for (let next = waiting[at]; next !== undefined && next[0] < name; next = waiting[++at]) {
          yield next;
        }
        const same = waiting[at]?.[0] === name ? waiting[at++] : undefined;
        yield [name, same === undefined ? ours : choose(ours, same[1])];
      }
      yield* waiting.slice(at);
    },
  };
}

/** New names of renamed entries, by the prefix of their references. */
interface Renamed {
  [DEFINITIONS]: ReadonlyMap<string, string>;
  [PARAMETERS]: ReadonlyMap<string, string>;
}

/** Names for the entries that clash with others. */
function newNames(
  own: ReadonlyMap<string, JsonObject>,
  taken: Shared,
  kind: string,
  renamed = (value: JsonObject) => value,
): ReadonlyMap<string, string> {
  const clashing = new Set<string>();
  for (const [name, value] of own) {
    const other = taken.get(name);
    if (other !== undefined && !isAlike(renamed(value), other)) clashing.add(name);
  }
  const isMoved = (value: JsonObject) =>
    [...referencesOf(value)].some(
      (reference) => reference.startsWith(kind) && clashing.has(reference.slice(kind.length)),
    );
  for (let before = -1; clashing.size > before; ) {
    before = clashing.size;
    for (const [name, value] of own) {
      if (taken.has(name) && !clashing.has(name) && isMoved(value)) clashing.add(name);
    }
  }
  const names = new Map<string, string>();
  for (const name of clashing) {
    let number = 2;
    while (taken.has(`${name}_v${number}`) || own.has(`${name}_v${number}`)) number++;
    names.set(name, `${name}_v${number}`);
  }
  return names;
}

function add(
  own: ReadonlyMap<string, JsonObject>,
  taken: Shared,
  names: ReadonlyMap<string, string>,
  renamed: (value: JsonObject) => JsonObject,
): void {
  for (const [name, value] of own) {
    const known = names.has(name) ? undefined : taken.get(name);
    if (known === undefined) taken.added.set(names.get(name) ?? name, renamed(value));
    else taken.added.set(name, withKindsOf(known, value));
  }
}

/** Two servers may publish one type under different kinds. */
function isAlike(a: JsonObject, b: JsonObject): boolean {
  return deepEqual({ ...a, [KINDS]: null }, { ...b, [KINDS]: null });
}

function withKindsOf(known: JsonObject, other: JsonObject): JsonObject {
  const [before, more] = [known[KINDS], other[KINDS]].map((kinds) =>
    Array.isArray(kinds) ? kinds : [],
  );
  const added = (more ?? []).filter((one) => !before?.some((kind) => deepEqual(kind, one)));
  return added.length === 0 ? known : { ...known, [KINDS]: [...(before ?? []), ...added] };
}

function* referencesOf(value: JsonValue | undefined): Generator<string, void> {
  if (typeof value !== "object" || value === null) return;
  for (const [member, inner] of Object.entries(value)) {
    if (member === "$ref" && typeof inner === "string") yield inner;
    else yield* referencesOf(inner);
  }
}

function renameIn(value: JsonValue, names: Renamed): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => renameIn(item, names));
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => {
      const isReference = member === "$ref" && typeof inner === "string";
      return [member, isReference ? renameReference(inner, names) : renameIn(inner ?? null, names)];
    }),
  );
}

function renameReference(reference: string, names: Renamed): string {
  for (const kind of [DEFINITIONS, PARAMETERS] as const) {
    if (!reference.startsWith(kind)) continue;
    const name = names[kind].get(reference.slice(kind.length));
    return name === undefined ? reference : kind + name;
  }
  return reference;
}

function sorted<Value>(entries: Iterable<[string, Value]>): [string, Value][] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** @throws {Error} if the value is not an object */
function membersOf(value: JsonValue | undefined): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Error("an object is missing");
}
