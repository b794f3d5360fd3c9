/**
 * The maximum cost of an expression, estimated without running it, by kube-apiserver's rules: it decides which
 * definitions are accepted. Every branch is taken and every loop runs over the largest range that the
 * declarations allow.
 *
 * Sizes come, in this order, from what was computed for the expression, from the expression itself (a
 * literal), from the declaration at its path, from its type, and from the variable it names.
 */
import type { Part } from "./cost/call-costs.js";
import { type DeclaredRoots, declaredAt } from "./cost/declared.js";
import {
  ACCUMULATOR,
  type BindExpression,
  type CallExpression,
  type Expression,
  expand,
  type FoldExpression,
  type SelectExpression,
} from "./cost/expressions.js";
import { Path } from "./cost/paths.js";
import { ENDLESS, exactly, product, type Range, sum, UNKNOWN, union } from "./cost/ranges.js";
import { LIST_COST, MAP_COST, STRUCT_COST } from "./costs.js";
import type { Node } from "./syntax.js";
import type { Type } from "./types.js";
import { codePointLength, type Value } from "./values.js";

/** @param roots the declarations of variables */
export function estimateCost(root: Node, roots: DeclaredRoots): number {
  const cost = new Estimator(roots).cost(expand(root));
  return cost >= ENDLESS ? Number.POSITIVE_INFINITY : cost;
}

/** Sizes of the keys (or indexes) and values of a container. */
interface EntrySizes {
  readonly kind: "list" | "map";
  readonly key: Range;
  readonly value: Range;
}

interface Local {
  readonly path: Path | undefined;
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

class Estimator {
  readonly #roots: DeclaredRoots;
  readonly #costs = new Map<Expression, number>();
  readonly #paths = new Map<Expression, Path>();
  readonly #sizes = new Map<Expression, Range>();
  readonly #entries = new Map<Expression, EntrySizes>();
  readonly #locals = new Map<string, Local[]>();

  constructor(roots: DeclaredRoots) {
    this.#roots = roots;
  }

  /** An expression that two others share is looked at once. */
  cost(expression: Expression): number {
    const known = this.#costs.get(expression);
    if (known !== undefined) return known;
    const cost = this.#costOf(expression);
    this.#costs.set(expression, cost);
    return cost;
  }

  #costOf(expression: Expression): number {
    switch (expression.kind) {
      case "literal":
        return 0;
      case "name":
        this.#setPath(expression, this.#pathOfName(expression.name));
        return 1;
      case "select":
        return this.#select(expression);
      case "call":
        return this.#call(expression);
      case "list": {
        const cost = this.#total(expression.elements);
        this.#entries.set(expression, {
          kind: "list",
          key: exactly(1),
          value: this.#unionOf(expression.elements),
        });
        return sum(cost, LIST_COST);
      }
      case "map": {
        const cost = this.#total(expression.entries.flat());
        this.#entries.set(expression, {
          kind: "map",
          key: this.#unionOf(expression.entries.map(([key]) => key)),
          value: this.#unionOf(expression.entries.map(([, value]) => value)),
        });
        return sum(cost, MAP_COST);
      }
      case "struct":
        return sum(this.#total(expression.values), STRUCT_COST);
      case "fold":
        return this.#fold(expression);
      case "bind":
        return this.#bind(expression);
    }
  }

  #total(expressions: readonly Expression[]): number {
    let total = 0;
    for (const expression of expressions) {
      total = sum(total, this.cost(expression));
      // Sizes are found at once: paths may change later.
      this.#sizeOf(expression);
    }
    return total;
  }

  #unionOf(expressions: readonly Expression[]): Range {
    const sizes = expressions.map((expression) => this.#sizeOf(expression) ?? UNKNOWN);
    return sizes.length === 0 ? exactly(0) : sizes.reduce(union);
  }

  /** A presence test costs nothing; members of values without a declared type neither. */
  #select(expression: SelectExpression): number {
    const { operand, field, isTest } = expression;
    const cost = this.cost(operand);
    if (isTest) return cost;
    this.#setPath(expression, Path.appended(this.#pathOf(operand), field));
    const { kind } = operand.type;
    return kind === "map" || kind === "named" ? sum(cost, 1) : cost;
  }

  #call(expression: CallExpression): number {
    const { name, args, isMethod } = expression;
    if (name === "dyn") {
      const [arg] = args;
      if (arg === undefined) return 1;
      const cost = this.cost(arg);
      this.#copySizes(expression, arg);
      return sum(1, cost);
    }
    const ordered: Part[] = new Array(args.length);
    const argCosts: number[] = new Array(args.length);
    // The receiver of a method comes last.
    for (let turn = 0; turn < args.length; turn++) {
      const at = isMethod ? (turn + 1) % args.length : turn;
      const arg = args[at] as Expression;
      argCosts[at] = this.cost(arg);
      ordered[at] = this.#partOf(arg);
    }
    this.#noteEntries(expression);
    const own = this.#ownCost(expression, ordered);
    if (name === "_?_:_") {
      const [asked = 0, yes = 0, no = 0] = argCosts;
      return sum(own, sum(asked, Math.max(yes, no)));
    }
    return argCosts.reduce(sum, own);
  }

  /** The dearest overload counts, and the result has the size of any. */
  #ownCost(expression: CallExpression, parts: readonly Part[]): number {
    let cost = 0;
    let size: Range | undefined;
    const [container] = expression.args;
    for (const { costs, indexes } of expression.overloads) {
      const estimate = costs.estimate(parts);
      cost = Math.max(cost, estimate.cost);
      if (estimate.size !== undefined) {
        size = size === undefined ? estimate.size : union(size, estimate.size);
      }
      if (indexes !== undefined && container !== undefined) {
        size = this.#entriesOf(container)?.value;
        const step = indexes === "list" ? "@items" : "@values";
        this.#setPath(expression, Path.appended(this.#pathOf(container), step));
      }
      size ??= this.#sizeOf(expression);
    }
    if (size !== undefined) this.#sizes.set(expression, size);
    return cost;
  }

  /** Of calls that pass the entries of their arguments on. */
  #noteEntries(expression: CallExpression): void {
    const [first, second, third] = expression.args;
    const pair =
      expression.name === "_?_:_"
        ? [second, third]
        : expression.name === "_+_"
          ? [first, second]
          : [];
    const [left, right] = pair;
    if (left === undefined || right === undefined) return;
    const a = this.#entriesOf(left);
    const b = this.#entriesOf(right);
    if (a === undefined || b === undefined) return;
    const key = union(a.key, b.key);
    this.#entries.set(expression, { kind: a.kind, key, value: union(a.value, b.value) });
  }

  #partOf(expression: Expression): Part {
    const size = this.#sizeOf(expression);
    const path = this.#pathOf(expression);
    const isOfAccumulator = path?.names()[0] === ACCUMULATOR;
    const own = isOfAccumulator ? undefined : path;
    return {
      size: size ?? UNKNOWN,
      isSized: size !== undefined,
      type: expression.type,
      literal: expression.kind === "literal" ? expression.value : undefined,
      items: () => {
        const type = firstParameter(expression.type);
        if (type === undefined) return undefined;
        const declared = own === undefined ? undefined : this.#declaredSize(own.copyWith("@items"));
        return { type, size: declared ?? UNKNOWN };
      },
    };
  }

  #fold(expression: FoldExpression): number {
    const { range, variables, accumulator, start, condition, step, result } = expression;
    let cost = sum(this.cost(range), this.cost(start));
    this.#push(accumulator, this.#localOf(start));
    const [first = "", second] = variables;
    this.#push(first, this.#variableOf(range, second === undefined ? "single" : "key"));
    if (second !== undefined) this.#push(second, this.#variableOf(range, "value"));
    const turn = sum(this.cost(condition), this.cost(step));
    for (const variable of variables) this.#pop(variable);
    cost = sum(cost, this.cost(result));
    this.#pop(accumulator);
    const turns = this.#sizeOf(range) ?? UNKNOWN;
    cost = sum(cost, product(turns.max, turn));
    if (start.kind === "literal") this.#sizes.set(expression, exactly(1));
    else {
      this.#sizes.set(expression, turns);
      const entries = this.#entriesOf(step);
      if (entries !== undefined) this.#entries.set(expression, entries);
    }
    return cost;
  }

  /** The loop over an empty list that binds a name costs that list. */
  #bind(expression: BindExpression): number {
    const { variable, value, body } = expression;
    const cost = sum(LIST_COST, this.cost(value));
    this.#push(variable, this.#localOf(value));
    const whole = sum(cost, this.cost(body));
    this.#pop(variable);
    this.#copySizes(expression, body);
    return whole;
  }

  #localOf(value: Expression): Local {
    const entries = this.#entriesOf(value);
    return { path: this.#pathOf(value), size: this.#sizeOf(value), entries };
  }

  /** A single variable stands for the items of a list and for the keys of a map. */
  #variableOf(range: Expression, role: "single" | "key" | "value"): Local {
    const entries = this.#entriesOf(range);
    const isList = (entries?.kind ?? range.type.kind) === "list";
    const isValue = role === "value" || (role === "single" && isList);
    const step = isList ? (isValue ? "@items" : "@indices") : isValue ? "@values" : "@keys";
    return {
      path: Path.appended(this.#pathOf(range), step),
      size: isValue ? entries?.value : entries?.key,
      entries: undefined,
    };
  }

  #push(name: string, local: Local): void {
    const known = this.#locals.get(name);
    if (known === undefined) this.#locals.set(name, [local]);
    else known.push(local);
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #setPath(expression: Expression, path: Path | undefined): void {
    if (path === undefined) this.#paths.delete(expression);
    else this.#paths.set(expression, path);
  }

  #pathOfName(name: string): Path | undefined {
    const local = this.#local(name);
    return local === undefined ? Path.of(name) : local.path;
  }

  #pathOf(expression: Expression): Path | undefined {
    if (expression.kind === "name") {
      const local = this.#local(expression.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(expression);
  }

  #sizeOf(expression: Expression): Range | undefined {
    const known = this.#sizes.get(expression) ?? ownSize(expression);
    if (known !== undefined) return known;
    const path = this.#pathOf(expression);
    const declared = path === undefined ? undefined : this.#declaredSize(path);
    if (declared !== undefined) {
      this.#sizes.set(expression, declared);
      return declared;
    }
    if (isScalar(expression.type)) return exactly(1);
    return expression.kind === "name" ? this.#local(expression.name)?.size : undefined;
  }

  #declaredSize(path: Path): Range | undefined {
    const declared = declaredAt(this.#roots, path);
    return declared === undefined ? undefined : { min: 0, max: declared.max };
  }

  #entriesOf(expression: Expression): EntrySizes | undefined {
    const known = this.#entries.get(expression);
    if (known !== undefined) return known;
    return expression.kind === "name" ? this.#local(expression.name)?.entries : undefined;
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#sizeOf(from);
    if (size !== undefined) this.#sizes.set(to, size);
    const entries = this.#entriesOf(from);
    if (entries !== undefined) this.#entries.set(to, entries);
  }
}

function firstParameter(type: Type): Type | undefined {
  switch (type.kind) {
    case "list":
      return type.element;
    case "map":
      return type.key;
    case "optional":
      return type.value;
    default:
      return undefined;
  }
}

function ownSize(expression: Expression): Range | undefined {
  switch (expression.kind) {
    case "literal":
      return exactly(literalSize(expression.value));
    case "list":
      return exactly(expression.elements.length);
    case "map":
      return exactly(expression.entries.length);
    default:
      return undefined;
  }
}

function literalSize(value: Value): number {
  if (typeof value === "string") return codePointLength(value);
  return value instanceof Uint8Array ? value.length : 1;
}

const SCALARS: ReadonlySet<string> = new Set([
  "bool",
  "double",
  "duration",
  "int",
  "timestamp",
  "uint",
]);

function isScalar(type: Type): boolean {
  if (type.kind === "optional") return isScalar(type.value);
  return type.kind === "simple" && SCALARS.has(type.name);
}
