/**
 * Objects that differ from a valid one in one field: each field of the kind, by the facts, with a few values of its
 * type, some of which no rule permits. Lists and structs that the valid object lacks are made for the field alone.
 */
import type { Field, SchemaModel, StructType, TypeRef } from "../../server/schema/model.js";
import { flatFields } from "../../server/schema/struct-codec.js";

export type Json = Record<string, unknown>;

/** A change: where, and what is there then. */
export interface Change {
  /** "spec.containers[0].ports" */
  readonly path: string;
  readonly value: unknown;
}

/** Structs in structs: deeper ones are those of templates, which other kinds have at their top. */
const DEPTH_MAX = 6;

const SCALARS = {
  string: ["", "a", "Bad_Value!", "a".repeat(300)],
  bool: [true, false],
  int32: [-1, 0, 5, 70_000],
  int64: [-1, 0, 5, 70_000],
  float64: [-1, 0.5],
  bytes: ["AA=="],
  any: [{ a: 1 }],
} as const;

const BUILTINS = {
  Time: ["2024-01-02T03:04:05Z"],
  MicroTime: ["2024-01-02T03:04:05.000001Z"],
  Duration: ["1h0m0s", "-1s"],
  FieldsV1: [{}],
  Quantity: ["1", "-1", "0.0001"],
  IntOrString: [5, -1, "50%", "101%", "x", ""],
  RawExtension: [{ a: 1 }],
  Unknown: [{ a: 1 }],
} as const;

/** @param within the members to change: "spec" and what stands beside it, or "status" */
export function changesOf(
  model: SchemaModel,
  type: StructType,
  object: Json,
  within: (member: string) => boolean,
): readonly Change[] {
  const found: Change[] = [];

  function visitStruct(struct: StructType, value: unknown, path: string, trail: readonly string[]) {
    if (trail.length > DEPTH_MAX || trail.filter((id) => id === struct.id).length > 1) return;
    const members = (value ?? {}) as Json;
    for (const field of flatFields(model, struct)) {
      if (trail.length === 0 && !within(field.name)) continue;
      const at = path === "" ? field.name : `${path}.${field.name}`;
      if (members[field.name] !== undefined) found.push({ path: at, value: undefined });
      visit(field.type, members[field.name], at, [...trail, struct.id], field);
    }
  }

  function visit(
    ref: TypeRef,
    value: unknown,
    at: string,
    trail: readonly string[],
    field?: Field,
  ) {
    switch (ref.kind) {
      case "scalar":
        for (const one of SCALARS[ref.name]) found.push({ path: at, value: one });
        return;
      case "builtin":
        for (const one of BUILTINS[ref.name]) found.push({ path: at, value: one });
        return;
      case "map":
        if (ref.values.kind === "named") found.push({ path: at, value: { a: {} } });
        else if (ref.values.kind === "list") found.push({ path: at, value: { a: ["AA=="] } });
        else
          found.push(...[{ a: "1" }, { "bad key!": "1" }].map((one) => ({ path: at, value: one })));
        return;
      case "list": {
        found.push({ path: at, value: [] });
        const items = (value ?? []) as readonly unknown[];
        if (items.length > 0) found.push({ path: at, value: [...items, ...items] });
        visit(ref.items, items[0], `${at}[0]`, trail, field);
        return;
      }
      case "named":
        visitNamed(ref.id, value, at, trail);
    }
  }

  function visitNamed(id: string, value: unknown, at: string, trail: readonly string[]) {
    const named = model.type(id);
    if (named?.form === "struct") {
      if (value === undefined) found.push({ path: at, value: {} });
      if (!named.customJson) visitStruct(named, value, at, trail);
    } else if (named?.form === "enum") {
      for (const one of [...named.values.slice(0, 3), "Unheard", ""])
        found.push({ path: at, value: one });
    } else if (named?.form === "alias") visit(named.target, value, at, trail);
  }

  visitStruct(type, object, "", []);
  return found;
}

/** A copy of the object with the change. */
export function changed(object: Json, { path, value }: Change): Json {
  const copy = structuredClone(object);
  const steps = path.split(/\.|(?=\[)/);
  let place: Json | unknown[] = copy;
  steps.forEach((step, index) => {
    const key = step.startsWith("[") ? Number(step.slice(1, -1)) : step;
    const container = place as Record<string | number, unknown>;
    if (index === steps.length - 1) container[key] = value;
    else {
      container[key] ??= steps[index + 1]?.startsWith("[") ? [] : {};
      place = container[key] as Json | unknown[];
    }
  });
  return copy;
}
