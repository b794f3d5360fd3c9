/**
 * The maximum cost of an expression, estimated without running it: every node at its parts' largest
 * sizes, every branch taken, every loop run to its end. Infinite if it overflows.
 */
import { costBeyondStep, LIST_COST, MAP_COST, TRAVERSAL_FACTOR, TURN_COST } from "./costs.js";
import { COMPILE_COST, type LiteralPatterns, PROGRAM_SIZE_MAX, programCost } from "./regex.js";
import type { Bind, Call, Comprehension, Node } from "./syntax.js";
import { DYN, type Type } from "./types.js";
import { sizeOf } from "./values.js";

/** Bounds on the size of a value and of its contents. */
interface Bound {
  readonly size: number;
  /** A string or number: its own size bounds a comparison. */
  readonly isScalar?: true;
  /** Part of a variable, and so bounded by one request. */
  readonly isGiven?: true;
  /** Bounds of elements, or of a map's values. */
  readonly element: () => Bound;
  readonly field: (name: string) => Bound;
}

interface Estimate {
  readonly cost: number;
  readonly bound: Bound;
}

/** The maximum size of a request, and so of any string in it. */
const REQUEST_BYTES_MAX = 3 * 1024 * 1024;
/** The minimum bytes of an element in JSON with its comma, and of an entry with its quotes. */
const ELEMENT_BYTES_MIN = 2;
const ENTRY_BYTES_MIN = 6;

/** Upper bounds by path: "claims.groups", "claims.groups[]" for each element or map value. */
export type SizeLimits = Readonly<Record<string, number>>;

export interface EstimateOptions {
  readonly variables: ReadonlyMap<string, Type>;
  readonly limits: SizeLimits;
  readonly patterns: LiteralPatterns;
}

export function estimateCost(root: Node, options: EstimateOptions): number {
  return new Estimator(options).of(root, new Map()).cost;
}

type Scope = ReadonlyMap<string, Bound>;

class Estimator {
  readonly #variables: ReadonlyMap<string, Type>;
  readonly #limits: SizeLimits;

  readonly #patterns: LiteralPatterns;

  constructor({ variables, limits, patterns }: EstimateOptions) {
    this.#variables = variables;
    this.#limits = limits;
    this.#patterns = patterns;
  }

  of(node: Node, scope: Scope): Estimate {
    switch (node.kind) {
      case "literal":
        return { cost: 0, bound: scalar(sizeOf(node.value)) };
      case "identifier": {
        const known = scope.get(node.name);
        const type = this.#variables.get(node.name) ?? DYN;
        return { cost: 1, bound: known ?? this.#ofType(type, node.name) };
      }
      case "select": {
        const operand = this.of(node.operand, scope);
        const bound = node.isTest ? flat(1) : operand.bound.field(node.field);
        return { cost: operand.cost + 1, bound };
      }
      case "call":
        return this.#call(node, scope);
      case "list": {
        const parts = node.elements.map((element) => this.of(element, scope));
        const cost = LIST_COST + parts.length + total(parts);
        return { cost, bound: container(parts.length, parts) };
      }
      case "map": {
        const keys = node.entries.map(({ key }) => this.of(key, scope));
        const values = node.entries.map(({ value }) => this.of(value, scope));
        const cost = MAP_COST + values.length + total(keys) + total(values);
        return { cost, bound: container(values.length, values) };
      }
      case "struct": {
        const values = node.fields.map(({ value }) => this.of(value, scope));
        const cost = MAP_COST + values.length + total(values);
        return { cost, bound: container(values.length, values) };
      }
      case "comprehension":
        return this.#comprehension(node, scope);
      case "bind":
        return this.#bind(node, scope);
    }
  }

  #call(node: Call, scope: Scope): Estimate {
    const nodes =
      node.target === undefined || node.isNamespaced === true
        ? node.args
        : [node.target, ...node.args];
    const parts = nodes.map((part) => this.of(part, scope));
    const inner = total(parts);
    const [first, second, third] = parts;
    switch (node.name) {
      case "_&&_":
      case "_||_":
        return { cost: inner, bound: flat(1) };
      case "_?_:_": {
        const branches = Math.max(second?.cost ?? 0, third?.cost ?? 0);
        const cost = 1 + (first?.cost ?? 0) + branches;
        return { cost, bound: larger(second?.bound ?? flat(1), third?.bound ?? flat(1)) };
      }
      case "_[_]":
      case "_[?_]":
        return { cost: inner + 1, bound: first?.bound.element() ?? flat(1) };
      case "or":
      case "orValue":
        return {
          cost: inner + 1,
          bound: larger(first?.bound ?? flat(1), second?.bound ?? flat(1)),
        };
    }
    const sizes = parts.map(({ bound }) => bound.size);
    let cost = 0;
    let size = 1;
    for (const overload of node.overloads ?? []) {
      // Strings without a bound are rarely as large as a request, so upstream counts them as free.
      const isCounting = node.name === "size" && (sizes[0] ?? 0) > REQUEST_BYTES_MAX / 2;
      cost = Math.max(cost, isCounting ? 0 : overload.cost(sizes));
      size = Math.max(size, overload.resultSize(sizes));
    }
    cost += this.#deepCost(node, parts);
    size = Math.max(size, deepSize(node, parts));
    // The parts of a function's result are bounded by the result and by the parts of its arguments.
    const element = once(() =>
      parts.map((part) => part.bound.element()).reduce(larger, flat(size)),
    );
    const bound: Bound = { size, element, field: element };
    return { cost: inner + 1 + cost, bound };
  }

  /** Costs charged while a function runs: compared contents, pairs, patterns, results. */
  #deepCost(node: Call, parts: readonly Estimate[]): number {
    const [left = flat(1), right = flat(1)] = parts.map(({ bound }) => bound);
    switch (node.name) {
      case "_==_":
      case "_!=_":
        return 1 + Math.min(contents(left), contents(right));
      case "_<_":
      case "_<=_":
      case "_>_":
      case "_>=_":
        return Math.ceil(Math.min(left.size, right.size) * TRAVERSAL_FACTOR);
      case "min":
      case "max":
      case "isSorted":
        return contents(left);
      case "@in":
        return searchCost(left, right);
      case "contains":
      case "equivalent":
      case "intersects":
        if (node.isNamespaced !== true) return 0;
        return 2 * (times(left.size, contents(right)) + times(right.size, contents(left)));
      case "distinct":
        return times(left.size, contents(left));
      case "sort":
        return times(sortingTurns(left.size), 1 + left.element().size * TRAVERSAL_FACTOR);
      case "indexOf":
      case "lastIndexOf":
      case "flatten":
        return contents(left);
      case "matches":
      case "find":
      case "findAll":
        return this.#patternCost(node, left.size, right.size);
      case "join":
        return left.size * (left.element().size + right.size) * 0.1;
      case "replace":
        return (left.size + 1) * (parts[2]?.bound.size ?? 1) * 0.1;
      case "format":
        return contents(right) + deepSize(node, parts);
      case "range":
        return 100_000;
      default:
        return 0;
    }
  }

  /** A pattern that is not a literal may have any size. */
  #patternCost(node: Call, text: number, pattern: number): number {
    const literal = (node.target === undefined ? node.args[1] : node.args[0]) ?? node;
    const value = literal.kind === "literal" ? literal.value : undefined;
    const compiled = typeof value === "string" ? this.#patterns.get(value) : undefined;
    // Matches are charged one by one; `matches` finds none.
    const finding = node.name === "matches" ? 0 : text + 1;
    if (compiled !== undefined) {
      return programCost(compiled.programSize(), pattern, text) + finding;
    }
    const making = pattern + PROGRAM_SIZE_MAX * COMPILE_COST;
    return making + programCost(PROGRAM_SIZE_MAX, 0, text) + finding;
  }

  #comprehension(node: Comprehension, scope: Scope): Estimate {
    const range = this.of(node.range, scope);
    const inner = new Map(scope);
    const isMap = node.range.type?.kind === "map";
    const element = range.bound.element();
    const [first = "", second] = node.variables;
    const key = flat(isMap ? REQUEST_BYTES_MAX : 1);
    inner.set(first, second === undefined ? (isMap ? key : element) : key);
    if (second !== undefined) inner.set(second, element);
    const filter = node.filter === undefined ? 0 : this.of(node.filter, inner).cost;
    const body = this.of(node.body, inner);
    const turns = range.bound.size;
    const comparing = 1 + body.bound.size * TRAVERSAL_FACTOR;
    const sorting = node.macro === "sortBy" ? times(sortingTurns(turns), comparing) : 0;
    const merging = node.macro === "transformMapEntry" ? turns * body.bound.size : 0;
    const each = TURN_COST[node.macro] + filter + body.cost;
    const cost = range.cost + times(turns, each) + sorting + merging;
    return { cost, bound: this.#collected(node, range.bound, body.bound) };
  }

  #collected(node: Comprehension, range: Bound, body: Bound): Bound {
    switch (node.macro) {
      case "all":
      case "exists":
      case "existsOne":
        return flat(1);
      case "filter":
      case "sortBy":
        return range;
      case "transformMapEntry":
        return { size: times(range.size, body.size), element: body.element, field: body.element };
      default:
        return { size: range.size, element: () => body, field: () => body };
    }
  }

  #bind(node: Bind, scope: Scope): Estimate {
    const value = this.of(node.value, scope);
    const body = this.of(node.body, new Map(scope).set(node.variable, value.bound));
    return { cost: 1 + value.cost + body.cost, bound: body.bound };
  }

  #ofType(type: Type, path: string): Bound {
    const size = this.#limits[path] ?? sizeOfType(type);
    const part = (inner: Type, at: string) => () => this.#ofType(inner, at);
    switch (type.kind) {
      case "list": {
        const element = part(type.element, `${path}[]`);
        return { size, isGiven: true, element, field: element };
      }
      case "map": {
        const element = part(type.value, `${path}[]`);
        // A key with its own bound appears by name in the path.
        return {
          size,
          isGiven: true,
          element,
          field: (name) => this.#ofType(type.value, `${path}.${name}`),
        };
      }
      case "optional":
        return this.#ofType(type.value, path);
      case "named":
        return {
          size,
          isGiven: true,
          element: () => this.#ofType(DYN, `${path}[]`),
          field: (name) => this.#ofType(type.fields?.get(name) ?? DYN, `${path}.${name}`),
        };
      case "dyn":
        return {
          size,
          isGiven: true,
          element: () => this.#ofType(DYN, `${path}[]`),
          field: (name) => this.#ofType(DYN, `${path}.${name}`),
        };
      default:
        return scalar(size);
    }
  }
}

/** The maximum length of one formatted number. */
const FORMATTED_NUMBER_MAX = 512;

/** The content size of results that are built from the arguments. */
function deepSize(node: Call, parts: readonly Estimate[]): number {
  const [left = flat(1), right = flat(1)] = parts.map(({ bound }) => bound);
  switch (node.name) {
    case "join":
      return times(left.size, left.element().size + right.size);
    case "format":
      return left.size + times(right.size, FORMATTED_NUMBER_MAX) + contents(right);
    case "flatten":
      return contents(left);
    default:
      return 1;
  }
}

function sizeOfType(type: Type): number {
  switch (type.kind) {
    case "dyn":
      return REQUEST_BYTES_MAX;
    case "list":
      return REQUEST_BYTES_MAX / ELEMENT_BYTES_MIN;
    case "map":
      return REQUEST_BYTES_MAX / ENTRY_BYTES_MIN;
    case "named":
      return type.fields?.size ?? 1;
    case "simple":
      return type.name === "string" || type.name === "bytes" ? REQUEST_BYTES_MAX : 1;
    default:
      return 1;
  }
}

function flat(size: number): Bound {
  return { size, element: () => flat(size), field: () => flat(size) };
}

function scalar(size: number): Bound {
  return { ...flat(size), isScalar: true };
}

function container(size: number, parts: readonly Estimate[]): Bound {
  const element = once(() => parts.map(({ bound }) => bound).reduce(larger, scalar(1)));
  return { size, element, field: element };
}

function larger(left: Bound, right: Bound): Bound {
  if (left === right) return left;
  const fields = new Map<string, Bound>();
  return {
    size: Math.max(left.size, right.size),
    ...(left.isScalar && right.isScalar && { isScalar: true }),
    element: once(() => larger(left.element(), right.element())),
    field: (name) => {
      const bound = fields.get(name) ?? larger(left.field(name), right.field(name));
      fields.set(name, bound);
      return bound;
    },
  };
}

/** Bound names are used repeatedly, so each bound is computed once. */
function once(find: () => Bound): () => Bound {
  let found: Bound | undefined;
  return () => {
    found ??= find();
    return found;
  };
}

/** The number of comparisons in sorting, including short runs and the charged one. */
function sortingTurns(count: number): number {
  return times(count, 2 * Math.ceil(Math.log2(count + 1)) + 1);
}

/** Contents are followed to this depth; deeper ones count as the level above. */
const CONTENTS_DEPTH_MAX = 3;

function contents(bound: Bound, depth = 0): number {
  if (bound.isScalar || bound.size <= 1 || depth >= CONTENTS_DEPTH_MAX) return bound.size;
  const whole = times(bound.size, 1 + contents(bound.element(), depth + 1));
  return Math.min(whole, bound.isGiven ? REQUEST_BYTES_MAX : CONTENTS_MAX);
}

/** Finding an item among others, beside the step for each of them. */
function searchCost(item: Bound, list: Bound): number {
  if (!item.isScalar) return contents(list);
  const each = costBeyondStep(Math.min(item.size, list.element().size));
  const whole = times(list.size, each);
  return list.isGiven ? Math.min(whole, REQUEST_BYTES_MAX * TRAVERSAL_FACTOR) : whole;
}

/** The maximum output of an expression over one request's content, however nested. */
const CONTENTS_MAX = 4 * REQUEST_BYTES_MAX;

function total(parts: readonly Estimate[]): number {
  return parts.reduce((sum, { cost }) => sum + cost, 0);
}

/** A cost that is incurred zero times is zero, even if infinite. */
function times(count: number, cost: number): number {
  return count === 0 ? 0 : count * cost;
}
