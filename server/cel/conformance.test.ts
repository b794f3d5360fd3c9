/**
 * The language's own conformance tests from the package @bufbuild/cel-spec, without those that need
 * protocol buffer messages, enums or unsupported extensions. Skipped if the package is not installed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CelType, createCelEnvironment } from "./environment.js";

interface SpecValue {
  readonly int64Value?: string;
  readonly uint64Value?: string;
  readonly doubleValue?: number | string;
  readonly stringValue?: string;
  readonly bytesValue?: string;
  readonly boolValue?: boolean;
  readonly nullValue?: unknown;
  readonly listValue?: { readonly values?: readonly SpecValue[] };
  readonly mapValue?: { readonly entries?: readonly { key: SpecValue; value: SpecValue }[] };
  readonly typeValue?: string;
  readonly objectValue?: Readonly<Record<string, unknown>>;
}

interface SpecType {
  readonly primitive?: string;
  readonly wellKnown?: string;
  readonly listType?: { readonly elemType: SpecType };
  readonly mapType?: { readonly keyType: SpecType; readonly valueType: SpecType };
}

interface SpecCase {
  readonly name?: string;
  readonly expr: string;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly evalError?: unknown;
  readonly typedResult?: { readonly result?: SpecValue };
  readonly value?: SpecValue;
  readonly bindings?: Readonly<Record<string, { readonly value?: SpecValue }>>;
  readonly typeEnv?: readonly { name: string; ident?: { type: SpecType }; function?: unknown }[];
}

interface SpecSuite {
  readonly name: string;
  readonly suites?: readonly SpecSuite[];
  readonly tests?: readonly { readonly original: SpecCase }[];
}

const PACKAGE = "@bufbuild/cel-spec/testdata/conformance.js";
const LEFT_OUT =
  /TestAllTypes|proto[23]|cel\.expr|google\.protobuf\.(?!Timestamp|Duration)|google\.protobuf\.\w+\{|block|wrap/i;
const SUITES_LEFT_OUT = new Set(
  "block_ext enums proto2 proto3 proto2_ext wrappers dynamic encoders_ext math_ext".split(" "),
);
/** They expect types only, or bind values of another than the declared type. */
const CASES_LEFT_OUT = new Set([
  "unconstrained_type_var_as_dyn",
  "map_field_access",
  // kube-apiserver counts all milliseconds of a duration.
  "get_milliseconds",
  // The API's release of the strings extension writes exponents, and parts of lists and maps, in another way.
  "scientific notation formatting clause",
  "default precision for scientific notation",
  "scientific notation formatting clause in a string variable",
  "dyntype support for scientific notation",
  "list support for string",
  "map support for string",
  "map support (all key types)",
  "dyntype support for lists",
  "dyntype support for maps",
  "NaN support for scientific notation",
  "positive infinity support for scientific notation",
  "negative infinity support for scientific notation",
  "positive infinity support for fixed-point",
  "negative infinity support for fixed-point",
  "dyntype NaN/infinity support",
  // It finds nothing beyond the end, where the specification has an error.
  "indexof_out_of_range",
  "lastindexof_out_of_range",
]);
const PRIMITIVES: Readonly<Record<string, CelType>> = {
  INT64: "int",
  UINT64: "uint",
  STRING: "string",
  BOOL: "bool",
  DOUBLE: "double",
  BYTES: "bytes",
};

/** What the API refuses besides: parts of several types, constants that cannot be read, libraries. */
const STRICTER =
  /expected type '.*' but found|invalid \w+ argument|during formatting|formatting clause|too many arguments supplied|index \d+ out of range|undeclared reference to '(?:cel|reverse)'|matching overload for '(?:reverse|flatten|sort)'/;

class NotOurs extends Error {}

function toValue(value: SpecValue): unknown {
  if (value.int64Value !== undefined) return BigInt(value.int64Value);
  if (value.uint64Value !== undefined) return BigInt(value.uint64Value);
  if (value.doubleValue !== undefined) return Number(value.doubleValue);
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.bytesValue !== undefined) {
    return new Uint8Array(Buffer.from(value.bytesValue, "base64"));
  }
  if (value.boolValue !== undefined) return value.boolValue;
  if ("nullValue" in value) return null;
  if (value.listValue !== undefined) return (value.listValue.values ?? []).map(toValue);
  if (value.mapValue !== undefined) {
    const entries = value.mapValue.entries ?? [];
    return new Map(entries.map((entry) => [toValue(entry.key), toValue(entry.value)]));
  }
  if (value.typeValue !== undefined) return value.typeValue;
  if (/Duration|Timestamp/.test(String(value.objectValue?.["@type"]))) {
    return value.objectValue?.value;
  }
  throw new NotOurs();
}

function toType(type: SpecType | undefined): CelType {
  if (type?.primitive !== undefined) return PRIMITIVES[type.primitive] ?? "dyn";
  if (type?.listType !== undefined) return { list: toType(type.listType.elemType) };
  if (type?.mapType !== undefined) return { map: toType(type.mapType.valueType) };
  if (type?.wellKnown === "TIMESTAMP") return "timestamp";
  return type?.wellKnown === "DURATION" ? "duration" : "dyn";
}

/** Ints and uints print alike; the order of map keys is ignored. */
function spelled(value: unknown): string {
  if (typeof value === "bigint") return `i${value}`;
  if (typeof value === "number") return `d${value}`;
  if (typeof value === "string") return `s${value}`;
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return `[${value.map(spelled).join()}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return `{${entries
    .map(([key, item]) => `${String(key)}:${spelled(item)}`)
    .sort()
    .join()}}`;
}

/** undefined if the result is as specified; throws NotOurs for a skipped test. */
function problemOf(spec: SpecCase): string | undefined {
  const text = spec.expr + JSON.stringify(spec.typeEnv ?? "");
  const declared = spec.typeEnv ?? [];
  const isOurs =
    !LEFT_OUT.test(text) &&
    spec.container === undefined &&
    spec.disableCheck !== true &&
    !CASES_LEFT_OUT.has(spec.name ?? "") &&
    declared.every(({ name, function: called }) => !name.includes(".") && called === undefined);
  if (!isOurs) throw new NotOurs();
  const expected = spec.typedResult?.result ?? spec.value;
  const isFailure = spec.evalError !== undefined;
  const wanted = isFailure ? "failure" : spelled(expected === undefined ? true : toValue(expected));
  const isAnything = spec.typedResult !== undefined && expected === undefined;
  const variables: Record<string, CelType> = {};
  const bindings: Record<string, unknown> = {};
  for (const [name, { value }] of Object.entries(spec.bindings ?? {})) {
    if (name.includes(".")) throw new NotOurs();
    const type = String(value?.objectValue?.["@type"]);
    variables[name] = /Duration/.test(type) ? "duration" : /Time/.test(type) ? "timestamp" : "dyn";
    bindings[name] = value === undefined ? undefined : toValue(value);
  }
  for (const { name, ident } of declared) {
    const type = toType(ident?.type);
    if (type !== "dyn" || variables[name] === undefined) variables[name] = type;
  }
  let got: string;
  try {
    const program = createCelEnvironment({ variables }).compile(spec.expr, ["dyn"]);
    got = spelled(program.evaluate(bindings));
  } catch (error) {
    assert.match(String(error), /^Cel(?:Compile|Evaluation)Error/);
    if (!isFailure && STRICTER.test(String(error))) throw new NotOurs();
    got = "failure";
  }
  return got === wanted || isAnything
    ? undefined
    : `${spec.name}: ${spec.expr} is ${got}, not ${wanted}`;
}

test("the language's conformance tests pass", async (context) => {
  let root: SpecSuite;
  try {
    const module = (await import(PACKAGE)) as { readonly tests: SpecSuite };
    root = module.tests;
  } catch {
    context.skip("@bufbuild/cel-spec is not installed");
    return;
  }
  const problems: string[] = [];
  let passed = 0;
  const walk = (suite: SpecSuite) => {
    if (SUITES_LEFT_OUT.has(suite.name)) return;
    for (const { original } of suite.tests ?? []) {
      try {
        const problem = problemOf(original);
        if (problem === undefined) passed++;
        else problems.push(problem);
      } catch (error) {
        if (!(error instanceof NotOurs)) throw error;
      }
    }
    suite.suites?.forEach(walk);
  };
  walk(root);
  assert.deepEqual(problems, []);
  assert.ok(passed > 1_150, `only ${passed} were run`);
});
