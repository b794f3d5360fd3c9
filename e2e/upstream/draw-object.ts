/** Random objects for a schema: mostly as it wants them, with a fault here and there. */
import type { Random } from "../consistency/random.js";
import type { Schema } from "./draw-schema.js";

const TEXTS = [
  "a",
  "b",
  "c",
  "ab",
  "abc",
  "abcdef",
  "",
  "5",
  "50%",
  "é",
  "2020-01-01",
  "1h",
  "10.0.0.0/8",
];
const NUMBERS = [0, 1, 2, 3, 5, 10, -1, 2.5, 1e10, 2 ** 31, 0.25];
const FAULTS: readonly unknown[] = [
  null,
  "a",
  1,
  2.5,
  true,
  [],
  {},
  [1, "a"],
  { zzz: 1 },
  [null],
  { a: null },
];

/** @param faults how often a value is replaced by any other */
export function drawValue(schema: Schema, random: Random, faults: number): unknown {
  if (random.chance(faults)) return structuredClone(random.pick(FAULTS));
  if (schema.nullable === true && random.chance(0.2)) return null;
  if (Array.isArray(schema.enum) && random.chance(0.8)) return random.pick(schema.enum);
  if (schema["x-kubernetes-int-or-string"] === true) return random.pick([5, "50%", "a", 0]);
  switch (schema.type) {
    case "string":
      return random.pick(TEXTS);
    case "integer":
      return Math.round(random.pick(NUMBERS));
    case "number":
      return random.pick(NUMBERS);
    case "boolean":
      return random.chance(0.5);
    case "array":
      return drawList(schema, random, faults);
    case "object":
      return drawMembers(schema, random, faults);
    default:
      return structuredClone(random.pick(FAULTS));
  }
}

function drawList(schema: Schema, random: Random, faults: number): unknown[] {
  const items = (schema.items ?? {}) as Schema;
  const length = random.between(0, 3);
  return Array.from({ length }, () => drawValue(items, random, faults));
}

function drawMembers(schema: Schema, random: Random, faults: number): Record<string, unknown> {
  const {
    properties = {},
    additionalProperties,
    required = [],
  } = schema as {
    properties?: Record<string, Schema>;
    additionalProperties?: Schema;
    required?: string[];
  };
  const out: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(properties)) {
    const isWanted = random.chance(required.includes(name) ? 0.95 : 0.5);
    if (isWanted) out[name] = drawValue(one, random, faults);
  }
  if (typeof additionalProperties === "object") {
    for (const name of ["a", "k1", "long-name"]) {
      if (random.chance(0.4)) out[name] = drawValue(additionalProperties, random, faults);
    }
  }
  if (schema["x-kubernetes-embedded-resource"] === true && random.chance(0.8)) {
    Object.assign(out, { apiVersion: "v1", kind: "Thing", metadata: { name: "inner" } });
  }
  if (random.chance(faults)) out.unknown = random.pick(FAULTS);
  return out;
}
