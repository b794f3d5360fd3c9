/**
 * Bodies made from the schemas that the server publishes: an object of a kind, small but for one list or map of it,
 * which is filled with items of its own type. A recipe is a few numbers and names, so that it can be written down, made
 * again, and changed a little.
 */

/** The part of an OpenAPI schema that is followed. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
}

/** A kind that can be created. */
export interface Kind {
  /** Of its collection: "/api/v1/namespaces/red/pods" */
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: Schema;
  /** The schemas that references name. */
  readonly schemas: Readonly<Record<string, Schema>>;
}

const STYLES = ["good", "empty", "wrong", "long"] as const;

export interface Recipe {
  readonly path: string;
  /** Members and "[]" from the object to the list or map that is filled. */
  readonly place: readonly string[];
  readonly count: number;
  /** Optional members of each item. */
  readonly members: number;
  /** Items as the schema wants them, empty, of wrong types, or with long texts. */
  readonly style: (typeof STYLES)[number];
  readonly seed: number;
}

export type Random = () => number;

/** Numbers from 0 to 1 that the seed decides (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

const BODY_CHARS_MAX = 2_900_000;
const [COUNT_MIN, COUNT_MAX] = [500, 60_000];
const DEPTH_MAX = 6;

/** undefined = the kind has nothing that can be filled where it was looked. */
export function newRecipe(kinds: readonly Kind[], random: Random): Recipe | undefined {
  const kind = pick(random, kinds);
  const place = findPlace(kind, random);
  if (place === undefined) return undefined;
  return {
    path: kind.path,
    place,
    count: Math.round(COUNT_MIN * (COUNT_MAX / COUNT_MIN) ** random()),
    members: Math.floor(random() * 4),
    style: pick(random, STYLES),
    seed: Math.floor(random() * 2 ** 32),
  };
}

/** The recipe with one thing changed. */
export function changedRecipe(recipe: Recipe, random: Random): Recipe {
  const seed = Math.floor(random() * 2 ** 32);
  switch (Math.floor(random() * 3)) {
    case 0: {
      const count = Math.round(recipe.count * (0.5 + 1.5 * random()));
      return { ...recipe, seed, count: Math.min(COUNT_MAX, Math.max(COUNT_MIN, count)) };
    }
    case 1:
      return { ...recipe, seed, members: Math.floor(random() * 8) };
    default:
      return { ...recipe, seed, style: pick(random, STYLES) };
  }
}

/** The JSON text of the body. */
export function cook(kinds: readonly Kind[], recipe: Recipe): string {
  const kind = kinds.find(({ path }) => path === recipe.path);
  if (kind === undefined) throw new Error(`nobody serves ${recipe.path}`);
  const { apiVersion, kind: name } = kind;
  const filled = fill(kind, kind.schema, recipe, 0, randomOf(recipe.seed)) as object;
  const { metadata = {}, ...rest } = filled as { metadata?: object };
  return JSON.stringify({ apiVersion, kind: name, metadata: { name: "x", ...metadata }, ...rest });
}

/** A walk from the object to a list or map, at random. */
function findPlace(kind: Kind, random: Random): string[] | undefined {
  const place: string[] = [];
  let schema = resolve(kind, kind.schema);
  for (let depth = 0; depth < DEPTH_MAX; depth++) {
    const inner = schema.items ?? schema.additionalProperties;
    if (inner !== undefined) {
      const next = resolve(kind, inner);
      if (next.properties === undefined || random() < 0.6) return place;
      place.push("[]");
      schema = next;
      continue;
    }
    const members = Object.keys(schema.properties ?? {}).filter((name) => name !== "status");
    if (members.length === 0) return undefined;
    const member = pick(random, members);
    place.push(member);
    schema = resolve(kind, schema.properties?.[member] ?? {});
  }
  return undefined;
}

function resolve({ schemas }: Kind, schema: Schema): Schema {
  const { $ref = schema.allOf?.[0]?.$ref } = schema;
  return $ref === undefined ? schema : (schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {});
}

/** The value that leads to the place, with all that is required on the way. */
function fill(kind: Kind, given: Schema, recipe: Recipe, at: number, random: Random): unknown {
  const schema = resolve(kind, given);
  const inner = schema.items ?? schema.additionalProperties;
  const step = recipe.place[at];
  if (step === undefined) return fillContainer(kind, schema, recipe, random);
  if (step === "[]") {
    const item = fill(kind, inner ?? {}, recipe, at + 1, random);
    return schema.items === undefined ? { x: item } : [item];
  }
  const value = { ...(sampleOf(kind, schema, 0, 0, random) as object) };
  return { ...value, [step]: fill(kind, schema.properties?.[step] ?? {}, recipe, at + 1, random) };
}

function fillContainer(kind: Kind, schema: Schema, recipe: Recipe, random: Random): unknown {
  const { count, members, style } = recipe;
  const inner = schema.items ?? schema.additionalProperties ?? {};
  const made: unknown[] = [];
  let chars = 0;
  for (let at = 0; at < count && chars < BODY_CHARS_MAX; at++) {
    const item = itemOf(style, () => sampleOf(kind, inner, members, at, random));
    chars += JSON.stringify(item).length + (schema.items === undefined ? 12 : 1);
    made.push(item);
  }
  return schema.items === undefined
    ? Object.fromEntries(made.map((item, at) => [`k${at}`, item]))
    : made;
}

function itemOf(style: Recipe["style"], good: () => unknown): unknown {
  switch (style) {
    case "good":
      return good();
    case "empty":
      return {};
    case "wrong":
      return [1];
    case "long": {
      const item = good();
      const tail = "x".repeat(60);
      return typeof item === "string" ? item + tail : { ...(item as object), name: tail };
    }
  }
}

/** A value as the schema wants it, with so many members that are not required. `at` makes texts differ. */
function sampleOf(kind: Kind, given: Schema, members: number, at: number, random: Random): unknown {
  const schema = resolve(kind, given);
  if (schema.enum !== undefined) return pick(random, schema.enum);
  switch (schema.type) {
    case "string":
      return schema.format === "date-time" ? "2026-01-01T00:00:00Z" : `v${at}`;
    case "integer":
    case "number":
      return 1 + (at % 60_000);
    case "boolean":
      return true;
    case "array":
      return [];
  }
  const { properties = {}, required = [] } = schema;
  const chosen = new Set(required);
  const names = Object.keys(properties);
  for (let left = members; left > 0 && names.length > 0; left--) chosen.add(pick(random, names));
  return Object.fromEntries(
    [...chosen].map((name) => [name, sampleOf(kind, properties[name] ?? {}, 0, at, random)]),
  );
}
