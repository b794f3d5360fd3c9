/**
 * Strategic merge patches on random types: patches that fit, against a reference that looks each item
 * of a list up by its key, and patches that do not, which end with an object or a Status.
 */
import assert from "node:assert/strict";
import type { JsonArray, JsonObject, JsonValue } from "../../server/api/meta.js";
import { StatusError } from "../../server/api/status.js";
import { createStrategicMergePatcher } from "../../server/apply/strategic-merge.js";
import type { SchemaModel, StructType } from "../../server/schema/model.js";
import { parseTypes } from "../../server/types/parse-types.js";
import { anyJson, type Draw } from "./draw.js";

const STRUCTS = 4;
const WORDS = ["x", "y", "z", "w"];

/** How a field is written in facts, with "?" for a struct, and what it is to the reference. */
const FIELDS = [
  ["text", "string", ""],
  ["number", "*int64", ""],
  ["part", "*?", ""],
  ["replaced", "*?", "patch=replace"],
  ["words", "[]string", "patch=merge"],
  ["plain", "[]string", "list=atomic"],
  ["items", "[]?", "patch=merge mergeKey=k"],
  ["whole", "[]?", "list=atomic"],
  ["labels", "map[string]string", ""],
  ["parts", "map[string]?", ""],
] as const;

type FieldKind = (typeof FIELDS)[number][0];

/** Fields by name; structs refer to later ones only, so values end. */
type Struct = ReadonlyMap<string, { readonly kind: FieldKind; readonly inner: number }>;

interface RandomTypes {
  readonly structs: readonly Struct[];
  readonly model: SchemaModel;
  readonly root: StructType;
}

function drawTypes(draw: Draw): RandomTypes {
  const structs: Struct[] = [];
  let text = "@group a.example\n@version v1\n";
  for (let index = 0; index < STRUCTS; index++) {
    const fields = new Map<string, { kind: FieldKind; inner: number }>();
    text += `\ntype S${index}\n    1  k  string  oe\n`;
    for (const [kind, type, attributes] of FIELDS) {
      const isLast = index === STRUCTS - 1;
      if ((isLast && type.includes("?")) || (index > 0 && draw.oneIn(2))) continue;
      const inner = isLast ? index : index + 1 + draw.upTo(STRUCTS - 2 - index);
      fields.set(kind, { kind, inner });
      text += `    ${fields.size + 1}  ${kind}  ${type.replace("?", `S${inner}`)}  oe  ${attributes}`;
      text = `${text.trimEnd()}\n`;
    }
    structs.push(fields);
  }
  const file = parseTypes("random.v1", text);
  const model: SchemaModel = {
    words: { ofType: () => undefined, ofField: () => undefined },
    files: new Map([["random.v1", file]]),
    builtins: new Map(),
    type: (id) => file.types.get(id.slice("random.v1.".length)),
    kind: () => undefined,
  };
  return { structs, model, root: file.types.get("S0") as StructType };
}

interface Drawing {
  readonly draw: Draw;
  readonly structs: readonly Struct[];
  /** A patch may remove by null. */
  readonly isPatch: boolean;
}

function drawStruct(drawing: Drawing, index: number, key?: string): JsonObject {
  const { draw, structs, isPatch } = drawing;
  const value: JsonObject = key === undefined ? {} : { k: key };
  for (const [name, { kind, inner }] of structs[index] ?? []) {
    if (draw.upTo(2) === 0) continue;
    value[name] = isPatch && draw.oneIn(8) ? null : drawField(drawing, kind, inner);
  }
  return value;
}

function drawField(drawing: Drawing, kind: FieldKind, inner: number): JsonValue {
  const { draw } = drawing;
  switch (kind) {
    case "text":
      return draw.pick(WORDS);
    case "number":
      return draw.upTo(3);
    case "part":
    case "replaced":
      return drawStruct(drawing, inner);
    case "words":
    case "plain":
      return draw.some(WORDS);
    case "items":
      return shuffled(draw, WORDS).map((key) => drawStruct(drawing, inner, key));
    case "whole":
      // Not looked at by a patch, so there is nothing to remove by null.
      return draw.times(2, () => drawStruct({ ...drawing, isPatch: false }, inner));
    case "labels":
      return Object.fromEntries(draw.some(WORDS).map((name) => [name, draw.pick(WORDS)]));
    default:
      return Object.fromEntries(draw.some(WORDS).map((name) => [name, drawStruct(drawing, inner)]));
  }
}

function shuffled(draw: Draw, words: readonly string[]): string[] {
  const left = draw.some(words);
  const taken: string[] = [];
  while (left.length > 0) taken.push(...left.splice(draw.upTo(left.length - 1), 1));
  return taken;
}

/** Lists that merge come out as sets: sorted, their order is looked at apart. */
function reference(
  structs: readonly Struct[],
  index: number | undefined,
  current: JsonObject,
  patch: JsonObject,
): JsonObject {
  const result = new Map(Object.entries(current));
  for (const [name, value] of Object.entries(patch)) {
    const field = index === undefined ? undefined : structs[index]?.get(name);
    const old = result.get(name);
    if (value === null || value === undefined) result.delete(name);
    else if (field?.kind === "items") {
      result.set(name, mergedItems(structs, field.inner, asList(old), value as JsonArray));
    } else if (field?.kind === "words") {
      result.set(name, [...new Set([...asList(old), ...(value as JsonArray)])]);
    } else if (isMembers(value)) {
      result.set(name, mergedMembers(structs, field, isMembers(old) ? old : {}, value));
    } else result.set(name, value);
  }
  return Object.fromEntries(result);
}

function mergedMembers(
  structs: readonly Struct[],
  field: { readonly kind: FieldKind; readonly inner: number } | undefined,
  old: JsonObject,
  patch: JsonObject,
): JsonObject {
  if (field?.kind === "replaced") return reference(structs, field.inner, {}, patch);
  if (field?.kind !== "parts") return reference(structs, field?.inner, old, patch);
  const result = new Map(Object.entries(old));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else {
      const before = result.get(name);
      const part = isMembers(before) ? before : {};
      result.set(name, reference(structs, field.inner, part, value as JsonObject));
    }
  }
  return Object.fromEntries(result);
}

function mergedItems(
  structs: readonly Struct[],
  inner: number,
  current: JsonArray,
  patch: JsonArray,
): JsonArray {
  const items = new Map((current as JsonObject[]).map((item) => [item.k, item]));
  for (const item of patch as JsonObject[]) {
    items.set(item.k, reference(structs, inner, items.get(item.k) ?? {}, item));
  }
  return [...items.values()];
}

function asList(value: JsonValue | undefined): JsonArray {
  return Array.isArray(value) ? value : [];
}

function isMembers(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** With merged lists sorted; lists that are replaced keep their order. */
function canonical(structs: readonly Struct[], index: number, value: JsonObject): JsonObject {
  const entries = Object.entries(value).map(([name, member]): [string, JsonValue] => {
    const field = structs[index]?.get(name);
    if (field === undefined || member === null || member === undefined)
      return [name, member ?? null];
    const { kind, inner } = field;
    const ofInner = (one: JsonValue) => canonical(structs, inner, one as JsonObject);
    switch (kind) {
      case "words":
        return [name, [...(member as string[])].sort()];
      case "items":
        return [
          name,
          (member as JsonObject[])
            .map(ofInner)
            .sort((a, b) => String(a.k).localeCompare(String(b.k))),
        ];
      case "part":
      case "replaced":
        return [name, ofInner(member)];
      case "parts":
        return [
          name,
          Object.fromEntries(
            Object.entries(member).map(([key, one]) => [key, ofInner(one as JsonValue)]),
          ),
        ];
      default:
        return [name, member];
    }
  });
  return Object.fromEntries(entries);
}

/** Items of the patch come in its order, the others in theirs. */
function checkOrder(current: JsonObject, patch: JsonObject, result: JsonObject): void {
  if (!Array.isArray(patch.items)) return;
  const keys = (list: JsonValue | undefined) => (asList(list) as JsonObject[]).map(({ k }) => k);
  const wanted = keys(patch.items);
  const isWanted = (key: JsonValue | undefined) => wanted.includes(key as JsonValue);
  assert.deepEqual(keys(result.items).filter(isWanted), wanted);
  const others = (list: JsonValue | undefined) => keys(list).filter((key) => !isWanted(key));
  assert.deepEqual(others(result.items), others(current.items));
}

const DIRECTIVES = [
  "$patch",
  "$retainKeys",
  "$setElementOrder/items",
  "$setElementOrder/words",
  "$deleteFromPrimitiveList/words",
  "$setElementOrder",
];

export function fuzzStrategicMerge(draw: Draw): number {
  const { structs, model, root } = drawTypes(draw);
  const patcher = createStrategicMergePatcher(model);
  const current = drawStruct({ draw, structs, isPatch: false }, 0);
  const patches = draw.times(3, () => drawStruct({ draw, structs, isPatch: true }, 0));
  for (const patch of patches) {
    const before = JSON.stringify([current, patch]);
    const result = patcher(root, current, patch);
    assert.deepEqual(
      canonical(structs, 0, result),
      canonical(structs, 0, reference(structs, 0, current, patch)),
      before,
    );
    checkOrder(current, patch, result);
    assert.equal(JSON.stringify([current, patch]), before, "what goes in is left alone");
  }
  const names = [...FIELDS.map(([name]) => name), "k", ...DIRECTIVES];
  const strange = draw.times(3, () =>
    mixed(draw, drawStruct({ draw, structs, isPatch: true }, 0), names),
  );
  for (const patch of strange) {
    try {
      const result = patcher(root, current, patch);
      assert.ok(isMembers(result));
    } catch (error) {
      assert.ok(error instanceof StatusError && error.code < 500, String(error));
    }
  }
  return patches.length + strange.length;
}

/** The patch with something strange in it, also deep inside. */
function mixed(draw: Draw, patch: JsonObject, names: readonly string[]): JsonValue {
  const entries = Object.entries(patch).map(([name, value]): [string, JsonValue] => {
    if (draw.oneIn(5)) return [name, anyJson(draw, 3, names)];
    if (isMembers(value)) return [name, mixed(draw, value, names)];
    if (Array.isArray(value)) {
      return [name, value.map((item) => (isMembers(item) ? mixed(draw, item, names) : item))];
    }
    return [name, value ?? null];
  });
  for (const name of draw.oneIn(2) ? draw.some(DIRECTIVES) : []) {
    const likely =
      name === "$patch" ? draw.pick(["replace", "delete", "merge", "?"]) : draw.some(WORDS);
    const items = draw.oneIn(2) ? WORDS.map((k) => ({ k })) : likely;
    entries.push([
      name,
      draw.oneIn(5) ? anyJson(draw, 2, names) : name.endsWith("items") ? items : likely,
    ]);
  }
  return Object.fromEntries(entries);
}
