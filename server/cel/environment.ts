/**
 * CEL, the Common Expression Language, as the API uses it. An environment declares typed variables and
 * object types; compilation checks an expression against them and estimates its maximum cost; a program
 * evaluates it within a budget. Expressions come from administrators and users: they can reach only the
 * given values and cannot exceed their budget, which counts steps, not time.
 *
 * The language follows the specification (version 1) with optionals and two-variable macros; functions are
 * the standard ones and the API's extensions (functions/). Other folders import this file only.
 */
import { finishNow, type Steps } from "../../storage/base/steps.js";
import { Adapters, toJson } from "./adapt.js";
import { check, type StructShapes } from "./checker.js";
import type { Charge } from "./comparison.js";
import type { DeclaredRoots } from "./cost/declared.js";
import { rootsOf, type SizeLimits } from "./cost/declared-types.js";
import { BudgetExceeded, CelCompileError, CelEvaluationError, Failure } from "./errors.js";
import { estimateCost } from "./estimate.js";
import { Frame, PAUSE_COST, PAUSED } from "./frame.js";
import { FunctionTable } from "./function-table.js";
import { ADDRESSES } from "./functions/addresses.js";
import { AUTHORIZATION } from "./functions/authorization.js";
import { JSON_PATCH } from "./functions/json-patch.js";
import { LISTS } from "./functions/lists.js";
import { NAMED_FORMATS } from "./functions/named-formats.js";
import { OPTIONALS } from "./functions/optionals.js";
import { QUANTITIES } from "./functions/quantities.js";
import { REGEX } from "./functions/regex.js";
import { STANDARD } from "./functions/standard.js";
import { STRINGS } from "./functions/strings.js";
import { TIME } from "./functions/time.js";
import { URLS } from "./functions/urls.js";
import { VERSIONS } from "./functions/versions.js";
import { leastCost } from "./least-cost.js";
import { parse } from "./parser.js";
import { plan } from "./planner.js";
import { selectedPaths } from "./references.js";
import { LiteralPatterns } from "./regex.js";
import {
  covers,
  DYN,
  type Fields,
  formatType,
  type ItemIdentity,
  listOf,
  mapOf,
  NAMED_TYPES,
  type ObjectMember,
  optionalOf,
  parseType,
  STRING,
  type Type,
} from "./types.js";
import type { Value } from "./values.js";

export type { StructShapes } from "./checker.js";
export type { Declared, DeclaredRoots } from "./cost/declared.js";
export { scalarOf } from "./cost/declared.js";
export { CelCompileError, CelEvaluationError } from "./errors.js";
export { PAUSE_COST } from "./frame.js";
export { Late, LateObject } from "./late.js";
export type { ItemIdentity, ObjectMember } from "./types.js";

/** Lists, maps (by string) and objects consist of these. */
export type CelType =
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "dyn"
  /** With an identity the order of items is ignored, and adding replaces equal items. */
  | { readonly list: CelType; readonly identity?: ItemIdentity }
  | { readonly map: CelType }
  /** A variable that may be null; not for fields, which may be absent anyway. */
  | { readonly optional: CelType }
  | { readonly object: string }
  /** A type that checking inferred or an extension defines. */
  | { readonly known: Type };

/** A named object type: selecting an undeclared field is a compile error, reading an unset one fails. */
export interface CelObjectType {
  readonly name: string;
  readonly fields: Readonly<Record<string, CelType>>;
  /** Fields that differ from the JSON members of their names. */
  readonly members?: Readonly<Record<string, ObjectMember>>;
}

export interface CelEnvironmentOptions {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly types?: readonly CelObjectType[];
  /** The cost limit of one evaluation; default: kube-apiserver's per-call limit. */
  readonly costLimit?: number;
  /** Known upper bounds of sizes for the estimate, by path: "request.name", "claims.groups[]". */
  readonly sizeLimits?: SizeLimits;
  /** Takes the place of `sizeLimits`: all bounds, for the exact estimate. */
  readonly declared?: DeclaredRoots;
  /** Whether `cel.bind` binds names; kube-apiserver has it for selectors of devices alone. */
  readonly hasBind?: boolean;
  /** Objects that expressions may create; default: none. */
  readonly structs?: StructShapes;
}

export interface CelEnvironment {
  /**
   * Compiles an expression with a result of one of these types; "dyn" allows any.
   * @throws {CelCompileError}
   */
  compile(source: string, expected: readonly CelType[]): CelProgram;
  /** The same in steps: one of 10 KiB takes some 10 ms the first time. */
  compileInSteps(source: string, expected: readonly CelType[]): Steps<CelProgram>;
  /** Adds a field to an object type, for expressions that are compiled from now on. */
  declareField(objectType: string, field: string, type: CelType): void;
}

export interface CelProgram {
  /** The type of the result in kube-apiserver's notation, for example "list(string)". */
  readonly resultType: string;
  /** The same as a type, for variables of other expressions. */
  readonly type: Type;
  /** The maximum cost of an evaluation; infinite if unknown. */
  readonly estimatedCostMax: number;
  /** The minimum cost of an evaluation that returns a value. */
  readonly leastCost: number;
  /** Whether the expression selects this path anywhere, e.g. ["claims", "email"]. */
  references(path: readonly string[]): boolean;
  /**
   * JSON-like values in (ints as bigint or number) and out (lists and maps as plain arrays and objects,
   * ints as bigint, times as text). Bindings are not changed.
   * @throws {CelEvaluationError} also if the budget is exceeded
   */
  evaluate(bindings: Readonly<Record<string, unknown>>): unknown;
  /** Like evaluate, within `costLimit`; for callers that share a budget among expressions. */
  evaluateWithin(bindings: Readonly<Record<string, unknown>>, costLimit: number): Evaluated;
  /** Like evaluateWithin, but keeps the result in its internal form, for binding in other evaluations. */
  evaluateForBinding(bindings: Readonly<Record<string, unknown>>, costLimit: number): Evaluated;
  /** Like evaluateWithin, in pieces of this cost, or of some two milliseconds. */
  begin(
    bindings: Readonly<Record<string, unknown>>,
    costLimit: number,
    pieceCost?: number,
  ): PausingEvaluation;
  /** Like evaluateForBinding, in such pieces. */
  beginForBinding(
    bindings: Readonly<Record<string, unknown>>,
    costLimit: number,
  ): PausingEvaluation;
}

export interface Evaluated {
  readonly value: unknown;
  readonly cost: number;
}

/** An evaluation under way: it goes on until it pauses. */
export interface PausingEvaluation {
  /**
   * What a binding throws that is no failure of the expression comes through, and it can go on afterwards.
   * @returns undefined if it has paused
   * @throws {CelEvaluationError} as evaluateWithin
   */
  goOn(): Evaluated | undefined;
  /** What the last piece has taken, in steps. */
  readonly pieceCost: number;
}

/** An evaluation in steps. @throws {CelEvaluationError} */
export function* evaluateInSteps(evaluation: PausingEvaluation): Steps<Evaluated> {
  for (;;) {
    const done = evaluation.goOn();
    if (done !== undefined) return done;
    yield;
  }
}

/** kube-apiserver's limit of one evaluation. */
const COST_LIMIT_DEFAULT = 1_000_000;

/** Items and entries of one result: shared parts are copied on output. */
const OUTPUT_PARTS_MAX = 1_000_000;

function outputCharge(): Charge {
  let left = OUTPUT_PARTS_MAX;
  return (parts) => {
    left -= parts;
    if (left < 0) throw new BudgetExceeded(OUTPUT_PARTS_MAX);
  };
}

const LIBRARIES = [
  STANDARD,
  TIME,
  OPTIONALS,
  STRINGS,
  LISTS,
  REGEX,
  URLS,
  QUANTITIES,
  ADDRESSES,
  AUTHORIZATION,
  VERSIONS,
  NAMED_FORMATS,
];
const FUNCTIONS = new FunctionTable(LIBRARIES);
/** Where expressions make objects, they may make patches. */
const PATCH_FUNCTIONS = new FunctionTable([...LIBRARIES, JSON_PATCH]);

/** @throws {TypeError} if a declaration refers to a missing object type */
export function createCelEnvironment(options: CelEnvironmentOptions): CelEnvironment {
  const { costLimit = COST_LIMIT_DEFAULT, sizeLimits = {} } = options;
  const objects = declareObjects(options.types ?? []);
  const toType = (type: CelType) => typeOf(type, objects);
  const variables = new Map(
    Object.entries(options.variables).map(([name, type]) => [name, toType(type)]),
  );
  const adapters = new Adapters();
  const adapts = new Map([...variables].map(([name, type]) => [name, adapters.of(type)]));
  const types = new Map([...NAMED_TYPES, ...objects]);
  const { structs, declared = rootsOf(variables, sizeLimits) } = options;
  const checked = {
    variables,
    types,
    functions: structs === undefined ? FUNCTIONS : PATCH_FUNCTIONS,
    structs,
  };
  function* compile(source: string, expected: readonly CelType[]): Steps<CelProgram> {
    const patterns = new LiteralPatterns();
    const root = parse(source, options.hasBind);
    yield;
    const type = check(root, source, { ...checked, patterns });
    yield;
    if (!expected.some((wanted) => covers(toType(wanted), type))) {
      const nameOf = (one: Type) => formatType(one).replace(/^null$/, "null_type");
      const names = expected.map((wanted) => nameOf(toType(wanted)));
      const wanted = names.length === 1 ? names[0] : `one of [${names.join(" ")}]`;
      const why = `must evaluate to ${wanted} but got ${nameOf(type)}`;
      throw CelCompileError.ofType(why, source);
    }
    const planned = plan(root, source, adapts, patterns);
    const paths = selectedPaths(root);
    yield;
    const estimatedCostMax = estimateCost(root, declared);
    yield;
    const runIn = (frame: Frame, finish: (value: Value) => unknown): Evaluated => {
      try {
        const value = finish(planned.run(frame));
        return { value, cost: frame.spent };
      } catch (error) {
        throw toEvaluationError(error, frame.spent);
      }
    };
    const toResult = (value: Value) => toJson(value, outputCharge());
    const asIs = (value: Value) => value;
    const evaluateWithin = (bindings: Readonly<Record<string, unknown>>, limit: number) =>
      runIn(new Frame(planned, bindings, limit), toResult);
    const begin = (frame: Frame, finish: (value: Value) => unknown): PausingEvaluation => ({
      get pieceCost() {
        return frame.pieceEffort;
      },
      goOn() {
        frame.beginAgain();
        try {
          return runIn(frame, finish);
        } catch (error) {
          if (error === PAUSED) return undefined;
          throw error;
        }
      },
    });
    return {
      resultType: formatType(type),
      type,
      estimatedCostMax,
      leastCost: leastCost(root),
      references: (path) =>
        paths.some((found) => path.every((part, index) => found[index] === part)),
      evaluate: (bindings) => evaluateWithin(bindings, costLimit).value,
      evaluateWithin,
      evaluateForBinding: (bindings, limit) => runIn(new Frame(planned, bindings, limit), asIs),
      begin: (bindings, limit, pieceCost = PAUSE_COST) =>
        begin(new Frame(planned, bindings, limit, pieceCost), toResult),
      beginForBinding: (bindings, limit) =>
        begin(new Frame(planned, bindings, limit, PAUSE_COST), asIs),
    };
  }
  const compileInSteps = (source: string, expected: readonly CelType[]) =>
    guarded(source, compile(source, expected));
  return {
    compileInSteps,
    compile: (source, expected) => finishNow(compileInSteps(source, expected)),
    declareField: (objectType, field, type) => declareField(objects, objectType, field, type),
  };
}

/** Types may be recursive: fields are filled in once all types are known. */
function declareObjects(types: readonly CelObjectType[]): ReadonlyMap<string, Type> {
  const fields = new Map(types.map(({ name }) => [name, new Map<string, Type>()]));
  const objects = new Map<string, Type>(
    types.map(({ name, members }): [string, Type] => {
      const own: Fields = fields.get(name) ?? new Map();
      const named = { kind: "named", name, fields: own } as const;
      return [
        name,
        members === undefined ? named : { ...named, members: new Map(Object.entries(members)) },
      ];
    }),
  );
  for (const { name, fields: declared } of types) {
    for (const [field, type] of Object.entries(declared)) declareField(objects, name, field, type);
  }
  return objects;
}

function declareField(
  objects: ReadonlyMap<string, Type>,
  name: string,
  field: string,
  type: CelType,
): void {
  const object = objects.get(name);
  if (object?.kind !== "named") throw new TypeError(`no object type is named ${name}`);
  // Made above, for this environment alone.
  (object.fields as Map<string, Type>).set(field, typeOf(type, objects));
}

function typeOf(type: CelType, objects: ReadonlyMap<string, Type>): Type {
  if (typeof type === "string") return type === "dyn" ? DYN : parseType(type);
  if ("known" in type) return type.known;
  if ("list" in type) {
    const element = typeOf(type.list, objects);
    const { identity } = type;
    return identity === undefined ? listOf(element) : { kind: "list", element, identity };
  }
  if ("optional" in type) return optionalOf(typeOf(type.optional, objects));
  if ("map" in type) return mapOf(STRING, typeOf(type.map, objects));
  const found = objects.get(type.object);
  if (found === undefined) throw new TypeError(`no object type is named ${type.object}`);
  return found;
}

/** A stack overflow becomes a compile error, however deep text and recursion are. */
function* guarded<T>(source: string, compile: Steps<T>): Steps<T> {
  try {
    return yield* compile;
  } catch (error) {
    if (error instanceof RangeError) {
      throw new CelCompileError("expression is too complex", source, 0);
    }
    throw error;
  }
}

function toEvaluationError(error: unknown, cost: number): unknown {
  if (error instanceof Failure) return new CelEvaluationError(error.message, { cost });
  if (error instanceof BudgetExceeded) {
    const message = "operation cancelled: actual cost limit exceeded";
    return new CelEvaluationError(message, { cost, isOverBudget: true });
  }
  // Values too deep to compare or copy, or strings too long for the engine.
  if (error instanceof RangeError) {
    return new CelEvaluationError("value is too large or too deep", { cost });
  }
  return error;
}
