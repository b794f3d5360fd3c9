/**
 * Selects the overload of a call by its arguments' run-time types. These are verified even if checking
 * left one overload, because a dyn argument may have any type.
 */
import type { Overload } from "./overloads.js";
import type { SimpleName, Type } from "./types.js";
import {
  Duration,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.js";

type Test = (value: Value) => boolean;

/** Returns undefined if no overload accepts the arguments. */
export function dispatchOf(
  overloads: readonly Overload[],
): (args: readonly Value[]) => Overload | undefined {
  const candidates = overloads.map((overload) => ({ overload, tests: testsOf(overload) }));
  return (args) => {
    for (const { overload, tests } of candidates) {
      if (takes(tests, args)) return overload;
    }
    return undefined;
  };
}

/** Every call of an overload shares them. */
const KNOWN = new WeakMap<Overload, readonly Test[]>();

function testsOf(overload: Overload): readonly Test[] {
  const known = KNOWN.get(overload);
  if (known !== undefined) return known;
  const tests = overload.parameters.map(testOf);
  KNOWN.set(overload, tests);
  return tests;
}

function takes(tests: readonly Test[], args: readonly Value[]): boolean {
  for (let at = 0; at < tests.length; at++) {
    const test = tests[at];
    if (test !== undefined && !test(args[at] as Value)) return false;
  }
  return true;
}

function testOf(type: Type): Test {
  switch (type.kind) {
    case "dyn":
    case "var":
      return () => true;
    case "list":
      return (value) => value instanceof ListValue;
    case "map":
      return (value) => value instanceof MapValue;
    case "optional":
      return (value) => value instanceof Optional;
    case "type":
      return (value) => value instanceof TypeValue;
    case "named":
      return (value) =>
        (value instanceof OpaqueValue || value instanceof MapValue) && value.typeName === type.name;
    case "simple":
      return SIMPLE_TESTS[type.name];
  }
}

const SIMPLE_TESTS: Readonly<Record<SimpleName, Test>> = {
  bool: (value) => typeof value === "boolean",
  int: (value) => typeof value === "bigint",
  uint: (value) => value instanceof Uint,
  double: (value) => typeof value === "number",
  string: (value) => typeof value === "string",
  bytes: (value) => value instanceof Uint8Array,
  null: (value) => value === null,
  timestamp: (value) => value instanceof Timestamp,
  duration: (value) => value instanceof Duration,
};
