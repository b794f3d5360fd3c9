/**
 * Server-side apply on random schemas: structs, maps, sets, keyed lists, atomic and dynamic values in
 * each other, random writes and applies on them, owners and conflicts equal to the brute-force model.
 */
import assert from "node:assert/strict";
import type { JsonArray, JsonObject, JsonValue } from "../../server/api/meta.js";
import { StatusError } from "../../server/api/status.js";
import {
  DYNAMIC,
  LEAF_TYPE,
  type MapType,
  type MergeType,
  mapOf,
} from "../../server/apply/merge-schema.js";
import {
  checkAgainstModel,
  createEngine,
  type Operation,
  structOf,
} from "../../server/apply/testing/ownership-model.js";
import { anyJson, type Draw } from "./draw.js";

const DEPTH_MAX = 3;
const FIELDS = ["a", "b", "c", "d", "e"];
const WORDS = ["x", "y", "z"];
const MANAGERS = ["one", "two", "three"];
const STEPS_MAX = 7;

function drawType(draw: Draw, depth: number): MergeType {
  switch (draw.upTo(depth <= 0 ? 1 : 6)) {
    case 2:
      return mapOf(drawType(draw, depth - 1));
    case 3:
      return { form: "list", keys: [], keyDefaults: {}, items: LEAF_TYPE };
    case 4:
      return drawKeyedList(draw, depth);
    case 5:
      return DYNAMIC;
    case 6:
      return drawStruct(draw, depth - 1);
    default:
      return LEAF_TYPE;
  }
}

function drawStruct(draw: Draw, depth: number, isWhole = false): MapType {
  const fields: Record<string, MergeType> = {};
  for (const name of isWhole ? FIELDS : draw.some(FIELDS)) fields[name] = drawType(draw, depth);
  return structOf(fields);
}

function drawKeyedList(draw: Draw, depth: number): MergeType {
  const keys = draw.oneIn(2) ? ["k", "l"] : ["k"];
  const keyDefaults = keys.length > 1 && draw.oneIn(2) ? { l: "x" } : {};
  const fields: Record<string, MergeType> = Object.fromEntries(keys.map((key) => [key, LEAF_TYPE]));
  for (const [name, type] of drawStruct(draw, depth - 1).fields()) fields[name] = type;
  return { form: "list", keys, keyDefaults, items: structOf(fields) };
}

/** A value that fits the type; lists have no item twice. */
function drawValue(draw: Draw, type: MergeType): JsonValue {
  switch (type.form) {
    case "map": {
      const value: JsonObject = {};
      for (const [name, member] of type.fields()) {
        if (draw.upTo(2) > 0) value[name] = drawValue(draw, member);
      }
      const { others } = type;
      if (others !== undefined) {
        for (const name of draw.some(WORDS)) value[name] = drawValue(draw, others);
      }
      return value;
    }
    case "list":
      return drawItems(draw, type.keys, type);
    case "dynamic":
      return drawDynamic(draw, 2);
    default:
      return draw.pick<JsonValue>([1, 2, "x", true, ["x"], { x: "y" }]);
  }
}

function drawItems(
  draw: Draw,
  keys: readonly string[],
  type: MergeType & { form: "list" },
): JsonArray {
  if (keys.length === 0) return draw.some(WORDS);
  const items = new Map<string, JsonObject>();
  for (const key of draw.some(WORDS)) {
    const item = drawValue(draw, type.items) as JsonObject;
    item.k = key;
    const second = draw.pick(WORDS);
    if (keys.length > 1) {
      if (second === "x" && "l" in type.keyDefaults && draw.oneIn(2)) delete item.l;
      else item.l = second;
    }
    items.set(`${key}/${second}`, item);
  }
  return [...items.values()];
}

function drawDynamic(draw: Draw, depth: number): JsonValue {
  switch (draw.upTo(depth <= 0 ? 1 : 3)) {
    case 2:
      return draw.some(WORDS);
    case 3:
      return Object.fromEntries(
        draw.some(WORDS).map((name) => [name, drawDynamic(draw, depth - 1)]),
      );
    default:
      return draw.pick<JsonValue>([1, "x"]);
  }
}

/** @returns how many writes were made */
export function fuzzOwnership(draw: Draw): number {
  const body = drawStruct(draw, DEPTH_MAX, true);
  const steps = Array.from({ length: 1 + draw.upTo(STEPS_MAX) }, (): Operation => {
    const manager = draw.pick(MANAGERS);
    const value = drawValue(draw, body) as JsonObject;
    if (draw.oneIn(3)) return { verb: "put", manager, value };
    return { verb: "apply", manager, value, force: draw.oneIn(2) };
  });
  checkAgainstModel(body, steps);
  return steps.length + fuzzUnfitting(draw, body, steps);
}

/** What does not fit the schema ends with an object or a Status as well. */
function fuzzUnfitting(draw: Draw, body: MapType, steps: readonly Operation[]): number {
  const engine = createEngine(body);
  for (const step of steps.slice(0, 2)) {
    engine.run(step.verb === "apply" ? { ...step, force: true } : step);
  }
  const values = draw.times(3, () =>
    Object.fromEntries(
      draw
        .some([...FIELDS, "metadata"])
        .map((name) => [
          name,
          anyJson(draw, 3, [...FIELDS, "k", "l", "managedFields", "__proto__"]),
        ]),
    ),
  );
  for (const value of values) {
    const force = draw.oneIn(2);
    try {
      engine.run({ verb: "apply", manager: draw.pick(MANAGERS), value, force });
    } catch (error) {
      assert.ok(error instanceof StatusError && error.code < 500, String(error));
    }
  }
  return values.length;
}
