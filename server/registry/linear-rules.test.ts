/**
 * Rules walk lists once. A rule that looks through a list for each item of it, or of another one, costs the square of their lengths,
 * and 20,000 items fit into a body. So objects of every kind are filled with items that differ, place by place, and all that
 * judges a write is given them behind a counter: how often one member of one item is read must not grow with the number of items.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { collectProblems } from "../api/problems.js";
import { validateMetadata, validateMetadataUpdate } from "../api/validation-metadata.js";
import type { MainResource } from "../kinds/served-resource.js";
import { createUser } from "../request/user-info.js";
import type { StructType, TypeRef } from "../schema/model.js";
import { flatFields } from "../schema/struct-codec.js";
import { loadFacts } from "../types/load-facts.js";
import { createDeclarativeValidation } from "./generic/declarative-validation.js";
import { storedResources } from "./testing/problems.js";

const naming = createNaming("kubernetes");
const { model } = loadFacts(naming);
const declarative = createDeclarativeValidation({
  isGateEnabled: (gate) => gate === "DeclarativeValidation",
  onMismatch: () => {},
});
const context = {
  nowMs: Date.parse("2030-01-02T03:04:05Z"),
  subresource: "",
  naming,
  user: createUser({ name: "ann", groups: ["dev"] }),
};

/** Few enough for a list of problems to have room for those of each item. */
const [FEW, MANY] = [6, 18];
/** What a rule may read more often with more items: a sort compares each with some others. */
const MORE_MAX = 7;
const DEPTH_MAX = 7;
/** Shown in each of at most a hundred problems, and cut there. */
const SHOWN: ReadonlySet<string> = new Set([".spec.clusterIPs.*"]);

/** How often each member of the items was read. */
class Reads {
  readonly #seen = new WeakMap<object, object>();
  /** By the path of the member, with "*" for all items. */
  readonly most = new Map<string, number>();

  /** @param isItem whether it is below a list or map with many members */
  observe<T extends object>(value: T, path = "", isItem = false): T {
    const known = this.#seen.get(value);
    if (known !== undefined) return known as T;
    const isLong = (Array.isArray(value) && value.length >= FEW) || "k1" in value;
    const counts = new Map<PropertyKey, number>();
    const observed = new Proxy(value, {
      get: (target, key) => {
        const member = Reflect.get(target, key);
        if (typeof key === "symbol" || !Object.hasOwn(target, key)) return member;
        const at = `${path}.${isLong ? "*" : key}`;
        if ((isItem || isLong) && key !== "length") {
          const count = (counts.get(key) ?? 0) + 1;
          counts.set(key, count);
          this.most.set(at, Math.max(count, this.most.get(at) ?? 0));
        }
        const isObject = typeof member === "object" && member !== null;
        return isObject ? this.observe(member, at, isItem || isLong) : member;
      },
    });
    this.#seen.set(value, observed);
    this.#seen.set(observed, observed);
    return observed;
  }
}

interface Filling {
  /** Members from the object to the struct whose lists and maps are filled; "[]" for their only item. */
  readonly place: readonly string[];
  readonly count: number;
  readonly mark: string;
}

const TEXTS: readonly (readonly [name: RegExp, text: (at: number) => string])[] = [
  [/^(ip|hostip|podip|clusterip|address)s?$/i, (at) => `10.0.0.${at + 1}`],
  [/cidr|loadBalancerSourceRanges/i, (at) => `10.${at}.0.0/16`],
  [/^(mountPath|devicePath|path|hostPath)$/, (at) => `/v${at}`],
  [/apiVersion/, () => "v1"],
  [/finalizers/, (at) => `example.com/v${at}`],
];

function textOf(name: string, at: number, mark: string): string {
  const own = TEXTS.find(([pattern]) => pattern.test(name))?.[1];
  return own === undefined ? `${mark}${at}` : own(mark === "v" ? at : at + 100);
}

/** A value of the type; its scalars only where nothing of it is filled. */
function make(ref: TypeRef, name: string, at: number, rest: Filling, depth: number): JsonValue {
  switch (ref.kind) {
    case "scalar":
      if (ref.name === "string") return textOf(name, at, rest.mark);
      if (ref.name === "bool") return false;
      return ref.name === "bytes" ? "AAAA" : ref.name === "any" ? {} : at + 1;
    case "builtin":
      if (ref.name === "Quantity") return "1";
      if (ref.name === "IntOrString") return at + 1;
      if (ref.name === "Duration") return "1s";
      return ref.name.endsWith("Time") ? "2026-01-02T03:04:05Z" : {};
    case "list":
      return [make(ref.items, name, at, rest, depth)];
    case "map":
      return { [`k${at}`]: make(ref.values, name, at, rest, depth) };
    case "named": {
      const type = model.type(ref.id);
      if (type?.form === "alias") return make(type.target, name, at, rest, depth);
      if (type?.form === "enum") return type.values[0] ?? "";
      return type?.form === "struct" && !type.customJson ? structOf(type, at, rest, depth) : {};
    }
  }
}

function isScalar(ref: TypeRef): boolean {
  if (ref.kind === "scalar" || ref.kind === "builtin") return true;
  const type = ref.kind === "named" ? model.type(ref.id) : undefined;
  return type?.form === "enum" || (type?.form === "alias" && isScalar(type.target));
}

function collectionOf(ref: TypeRef): TypeRef | undefined {
  if (ref.kind === "list" || ref.kind === "map") return ref;
  const type = ref.kind === "named" ? model.type(ref.id) : undefined;
  return type?.form === "alias" ? collectionOf(type.target) : undefined;
}

function structOf(type: StructType, at: number, filling: Filling, depth: number): JsonObject {
  const [step, ...rest] = filling.place;
  const made: JsonObject = {};
  for (const field of flatFields(model, type)) {
    if (field.name === "status" && depth === 0 && step !== "status") continue;
    const collection = collectionOf(field.type);
    if (field.name === step) {
      const skipsItem = rest[0] === "[]";
      const below = { ...filling, place: skipsItem ? rest.slice(1) : rest };
      made[field.name] = make(field.type, field.name, at, below, depth + 1);
    } else if (step === "*" && collection !== undefined) {
      made[field.name] = many(collection, field.name, filling);
    } else if (isScalar(field.type) && depth > 1) {
      made[field.name] = make(field.type, field.name, at, { ...filling, place: [] }, depth + 1);
    }
  }
  return made;
}

function many(ref: TypeRef, name: string, filling: Filling): JsonValue {
  const ends = { ...filling, place: [] };
  const items = Array.from({ length: filling.count }, (_, at) => {
    const type = ref.kind === "list" ? ref.items : ref.kind === "map" ? ref.values : ref;
    return make(type, name, at, ends, 2);
  });
  if (ref.kind === "list") return items;
  return Object.fromEntries(items.map((item, at) => [`k${at}`, item]));
}

/** Where structs with lists or maps are. */
function* placesOf(ref: TypeRef, place: readonly string[]): Generator<readonly string[]> {
  if (place.length > DEPTH_MAX) return;
  const collection = collectionOf(ref);
  if (collection?.kind === "list") yield* placesOf(collection.items, [...place, "[]"]);
  if (collection?.kind === "map") yield* placesOf(collection.values, [...place, "[]"]);
  const type = ref.kind === "named" ? model.type(ref.id) : undefined;
  if (type?.form !== "struct" || type.customJson) return;
  const fields = flatFields(model, type);
  if (fields.some((field) => collectionOf(field.type) !== undefined)) yield [...place, "*"];
  for (const field of fields) {
    if (place.length === 0 && ["status", "metadata"].includes(field.name)) continue;
    yield* placesOf(field.type, [...place, field.name]);
  }
}

function objectOf(resource: MainResource, type: StructType, filling: Filling): JsonObject {
  const { group, version, kind, isNamespaced } = resource;
  const lists = structOf(metadataType, 0, { ...filling, place: ["*"] }, 1);
  delete lists.managedFields;
  return {
    ...structOf(type, 0, filling, 0),
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind,
    metadata: { ...lists, name: "x", ...(isNamespaced ? { namespace: "default" } : {}) },
  };
}

const metadataType = model.type("meta.v1.ObjectMeta") as StructType;

function judge(
  resource: MainResource,
  type: StructType,
  place: readonly string[],
  count: number,
): Reads {
  const { codec, strategy, conversion, storedCodec, isNamespaced } = resource;
  const reads = new Reads();
  const decode = (mark: string): ApiObject => {
    const input = reads.observe(objectOf(resource, type, { place, count, mark }));
    const { object } = codec.decode(input);
    codec.applyDefaults(object);
    const served = reads.observe(object);
    collectProblems(() => codec.validate(served));
    const stored = conversion === undefined ? served : conversion.toStored(served);
    if (conversion !== undefined) storedCodec.applyDefaults(stored);
    return reads.observe(stored);
  };
  const next = decode("v");
  strategy.prepareForCreate?.(next, context);
  const rules = { isNamespaced, namespaceFinalizer: "kubernetes" };
  collectProblems(() => validateMetadata(next.metadata, rules));
  collectProblems(() => strategy.validate?.(next, context) ?? []);
  collectProblems(() => declarative.judge(resource, { next, current: undefined }, []));
  strategy.warnings?.(next, undefined, context);
  strategy.reservations?.(next, context);
  strategy.selectableFields?.(next);
  storedCodec.encode(next);
  const current = decode("w");
  current.metadata.deletionTimestamp = "2026-01-02T03:04:05Z";
  strategy.prepareForUpdate?.(next, current, context);
  collectProblems(() => validateMetadataUpdate(next.metadata, current.metadata));
  collectProblems(() => strategy.validateUpdate?.(next, current, context) ?? []);
  collectProblems(() => declarative.judge(resource, { next, current }, []));
  strategy.warnings?.(next, current, context);
  return reads;
}

/** A write of the status: that is filled at the place, and the specification with whatever is right below it. */
function judgeStatus(
  resource: MainResource,
  type: StructType,
  place: readonly string[],
  count: number,
): Reads {
  const { codec, strategy, conversion, storedCodec } = resource;
  const reads = new Reads();
  const decode = (mark: string): ApiObject => {
    const { status = {} } = structOf(type, 0, { place, count, mark }, 0);
    const whole = objectOf(resource, type, { place: ["spec", "*"], count, mark: "v" });
    const { object } = codec.decode(reads.observe({ ...whole, status }));
    codec.applyDefaults(object);
    const stored = conversion === undefined ? object : conversion.toStored(object);
    if (conversion !== undefined) storedCodec.applyDefaults(stored);
    return reads.observe(stored);
  };
  const [next, current] = [decode("v"), decode("w")];
  const write = { ...context, subresource: "status" };
  strategy.prepareForUpdate?.(next, current, write);
  collectProblems(() => strategy.validateUpdate?.(next, current, write) ?? []);
  collectProblems(() => declarative.judge(resource, { next, current }, []));
  strategy.warnings?.(next, current, write);
  return reads;
}

function statusPlaces(type: StructType): readonly (readonly string[])[] {
  const status = flatFields(model, type).find(({ name }) => name === "status");
  return status === undefined ? [] : [...placesOf(status.type, ["status"])];
}

/** Members that long lists read more often than short ones, for the same item. */
function squares(judged: (count: number) => Reads): string[] {
  const few = judged(FEW).most;
  return [...judged(MANY).most]
    .map(([path, reads]) => ({ path, reads, before: few.get(path) ?? 0 }))
    .filter(({ path, reads, before }) => reads - before > MORE_MAX && !SHOWN.has(path))
    .map(({ path, reads, before }) => `${path}: ${before} and ${reads} reads`);
}

for (const resource of storedResources) {
  const { group, version, kind } = resource;
  const type = model.kind(group, version, kind);
  if (type === undefined) continue;
  test(`39.2: rules of ${group}/${version} ${kind} read each item of its lists as often in long lists as in short ones`, () => {
    const found = new Set<string>();
    for (const place of placesOf({ kind: "named", id: type.id, nullable: false }, [])) {
      for (const one of squares((count) => judge(resource, type, place, count))) found.add(one);
    }
    for (const place of resource.subresources.has("status") ? statusPlaces(type) : []) {
      for (const one of squares((count) => judgeStatus(resource, type, place, count))) {
        found.add(`${one}, by a write of the status`);
      }
    }
    assert.deepEqual([...found], []);
  });
}
