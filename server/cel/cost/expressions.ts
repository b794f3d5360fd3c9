/**
 * Expression: the tree that the estimate walks, with macros expanded into folds as kube-apiserver's parser does
 * it, because its costs are those of the expanded parts. Each object stands for one expression: sizes are
 * remembered by it.
 */
import type { MacroName } from "../macro-name.js";
import type { Overload } from "../overloads.js";
import type { Bind, Call, Comprehension, Node, Select } from "../syntax.js";
import { BOOL, DYN, INT, listOf, optionalOf, type Type } from "../types.js";
import type { Value } from "../values.js";
import { APPENDED, type CallCosts, CHOSEN, EQUALITY, FLAT, FREE } from "./call-costs.js";
import { sorted } from "./list-costs.js";

interface Base {
  readonly type: Type;
}
export interface LiteralExpression extends Base {
  readonly kind: "literal";
  readonly value: Value;
}
export interface NameExpression extends Base {
  readonly kind: "name";
  readonly name: string;
}
export interface SelectExpression extends Base {
  readonly kind: "select";
  readonly operand: Expression;
  readonly field: string;
  readonly isTest: boolean;
}
export interface CallExpression extends Base {
  readonly kind: "call";
  readonly name: string;
  /** Called as a method: the first argument is looked at last. */
  readonly isMethod: boolean;
  /** A receiver first. */
  readonly args: readonly Expression[];
  readonly overloads: readonly CallOverload[];
}
export interface ListExpression extends Base {
  readonly kind: "list";
  readonly elements: readonly Expression[];
}
export interface MapExpression extends Base {
  readonly kind: "map";
  readonly entries: readonly (readonly [key: Expression, value: Expression])[];
}
export interface StructExpression extends Base {
  readonly kind: "struct";
  readonly values: readonly Expression[];
}
export interface FoldExpression extends Base {
  readonly kind: "fold";
  readonly range: Expression;
  readonly variables: readonly string[];
  readonly accumulator: string;
  readonly start: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}
/** Binds a name to a value. */
export interface BindExpression extends Base {
  readonly kind: "bind";
  readonly variable: string;
  readonly value: Expression;
  readonly body: Expression;
}
export type Expression =
  | LiteralExpression
  | NameExpression
  | SelectExpression
  | CallExpression
  | ListExpression
  | MapExpression
  | StructExpression
  | FoldExpression
  | BindExpression;

/** How an index reaches its value: through a list, a map, or neither. */
export interface CallOverload {
  readonly costs: CallCosts;
  readonly indexes?: "list" | "map" | undefined;
}

/** No expression can write it. */
export const ACCUMULATOR = "@result";

export function expand(node: Node): Expression {
  const type = node.type ?? DYN;
  switch (node.kind) {
    case "literal":
      return { kind: "literal", type, value: node.value };
    case "identifier":
      return nameOf(node.name, type);
    case "select":
      return ofSelect(node, type);
    case "call":
      return ofCall(node, type);
    case "list":
      return { kind: "list", type, elements: node.elements.map(expand) };
    case "map": {
      const entries = node.entries.map(({ key, value }) => [expand(key), expand(value)] as const);
      return { kind: "map", type, entries };
    }
    case "struct":
      return { kind: "struct", type, values: node.fields.map(({ value }) => expand(value)) };
    case "comprehension":
      return node.macro === "sortBy"
        ? ofSortBy(node, type)
        : foldOf(node, expand(node.range), type);
    case "bind": {
      if (node.macro !== "bind") return ofOptionalBind(node, type);
      const { variable } = node;
      return { kind: "bind", type, variable, value: expand(node.value), body: expand(node.body) };
    }
  }
}

const nameOf = (name: string, type: Type): NameExpression => ({ kind: "name", name, type });
const literalOf = (value: Value, type: Type): LiteralExpression => ({
  kind: "literal",
  value,
  type,
});

function call(
  name: string,
  type: Type,
  args: readonly Expression[],
  costs: CallCosts,
  isMethod = false,
): CallExpression {
  return { kind: "call", name, type, args, isMethod, overloads: [{ costs }] };
}

function ofSelect(node: Select, type: Type): Expression {
  const dotted = node.typeName ?? node.variableName;
  if (dotted !== undefined) return nameOf(dotted, type);
  const operand = expand(node.operand);
  if (!node.isOptional) {
    return { kind: "select", type, operand, field: node.field, isTest: node.isTest };
  }
  const field = literalOf(node.field, { kind: "simple", name: "string" });
  return call("_?._", type, [operand, field], FLAT);
}

function ofCall(node: Call, type: Type): Expression {
  const { name, target } = node;
  const isMethod = target !== undefined && node.isNamespaced !== true;
  const args = isMethod ? [expand(target), ...node.args.map(expand)] : node.args.map(expand);
  const found = node.overloads ?? [];
  const overloads: readonly CallOverload[] =
    name === "_[_]"
      ? found.map((overload) => ({ costs: overload.costs, indexes: indexedBy(overload) }))
      : found;
  return { kind: "call", name, type, args, isMethod, overloads };
}

function indexedBy({ parameters: [first] }: Overload): "list" | "map" | undefined {
  return first?.kind === "list" || first?.kind === "map" ? first.kind : undefined;
}

/** Both share the expression of the optional, which kube-apiserver copies. */
function ofOptionalBind(node: Bind, type: Type): Expression {
  const optional = expand(node.value);
  const inner = optional.type.kind === "optional" ? optional.type.value : DYN;
  const body = expand(node.body);
  const bound: BindExpression = {
    kind: "bind",
    type: body.type,
    variable: node.variable,
    value: call("value", inner, [optional], FLAT, true),
    body,
  };
  const wrapped =
    node.macro === "optMap" ? call("optional.of", optionalOf(body.type), [bound], FLAT) : bound;
  const isThere = call("hasValue", BOOL, [optional], FLAT, true);
  return choice(isThere, wrapped, call("optional.none", type, [], FLAT), type);
}

function choice(condition: Expression, yes: Expression, no: Expression, type: Type): Expression {
  return call("_?_:_", type, [condition, yes, no], CHOSEN);
}

interface Fold {
  readonly start: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

function foldOf(node: Comprehension, range: Expression, type: Type): FoldExpression {
  const { variables } = node;
  const fold = FOLDS[node.macro](node, type);
  return { kind: "fold", type, range, variables, accumulator: ACCUMULATOR, ...fold };
}

const ALWAYS = () => literalOf(true, BOOL);
const accumulated = (type: Type) => nameOf(ACCUMULATOR, type);

function quantified(start: boolean, node: Comprehension): Fold {
  const body = expand(node.body);
  const asked = start ? accumulated(BOOL) : call("!_", BOOL, [accumulated(BOOL)], FLAT);
  return {
    start: literalOf(start, BOOL),
    condition: call("@not_strictly_false", BOOL, [asked], FLAT),
    step: call(start ? "_&&_" : "_||_", BOOL, [accumulated(BOOL), body], FREE),
    result: accumulated(BOOL),
  };
}

function counted(node: Comprehension): Fold {
  const one = () => literalOf(1n, INT);
  const next = call("_+_", INT, [accumulated(INT), one()], FLAT);
  return {
    start: literalOf(0n, INT),
    condition: ALWAYS(),
    step: choice(expand(node.body), next, accumulated(INT), INT),
    result: call("_==_", BOOL, [accumulated(INT), one()], EQUALITY),
  };
}

/** A list of what `item` gives, of the elements that pass. */
function listed(type: Type, passes: Node | undefined, item: () => Expression): Fold {
  const filter = passes === undefined ? undefined : expand(passes);
  const element = item();
  const list: ListExpression = { kind: "list", type: listOf(element.type), elements: [element] };
  const longer = call("_+_", type, [accumulated(type), list], APPENDED);
  return {
    start: { kind: "list", type, elements: [] },
    condition: ALWAYS(),
    step: filter === undefined ? longer : choice(filter, longer, accumulated(type), type),
    result: accumulated(type),
  };
}

function mapped(node: Comprehension, type: Type, entry: () => readonly Expression[]): Fold {
  const filter = node.filter === undefined ? undefined : expand(node.filter);
  const larger = call("cel.@mapInsert", type, [accumulated(type), ...entry()], FLAT);
  return {
    start: { kind: "map", type, entries: [] },
    condition: ALWAYS(),
    step: filter === undefined ? larger : choice(filter, larger, accumulated(type), type),
    result: accumulated(type),
  };
}

const transformed = (node: Comprehension, type: Type): Fold =>
  listed(type, node.filter, () => expand(node.body));

const FOLDS: Readonly<Record<MacroName, (node: Comprehension, type: Type) => Fold>> = {
  all: (node) => quantified(true, node),
  exists: (node) => quantified(false, node),
  existsOne: counted,
  map: transformed,
  transformList: transformed,
  sortBy: transformed,
  filter: (node, type) =>
    listed(type, node.body, () =>
      nameOf(node.variables[0] ?? "", type.kind === "list" ? type.element : DYN),
    ),
  transformMap: (node, type) =>
    mapped(node, type, () => [
      nameOf(node.variables[0] ?? "", type.kind === "map" ? type.key : DYN),
      expand(node.body),
    ]),
  transformMapEntry: (node, type) => mapped(node, type, () => [expand(node.body)]),
};

const SORTED = "@__sortBy_input__";

/** The list, bound to a name, is sorted by the list of its keys. */
function ofSortBy(node: Comprehension, type: Type): BindExpression {
  const value = expand(node.range);
  const bound = () => nameOf(SORTED, value.type);
  const keyType = node.body.type ?? DYN;
  const keys = foldOf(node, bound(), listOf(keyType));
  // Of keys of any type those that are texts cost most.
  const costs = sorted(keyType.kind === "simple" ? keyType.name : "string", 1);
  const body = call("@sortByAssociatedKeys", type, [bound(), keys], costs, true);
  return { kind: "bind", type, variable: SORTED, value, body };
}
