/**
 * The minimum cost of any evaluation with a value, from the expression alone: literal lists have known
 * sizes, request data may be empty, optional parts are skipped. It finds expressions that no evaluation can
 * afford, even without bounds on their input.
 */
import { isConstant } from "./constants.js";
import { LIST_COST, MAP_COST, STRUCT_COST } from "./costs.js";
import { LOOP_COSTS } from "./loop-costs.js";
import type { Call, Comprehension, Node } from "./syntax.js";

interface Least {
  readonly cost: number;
  /** Known items of a list or entries of a map. */
  readonly size: number;
}

/** Sizes of the values of macro variables. */
type VariableSizes = ReadonlyMap<string, number>;

export function leastCost(root: Node): number {
  return least(root, new Map()).cost;
}

function least(node: Node, scope: VariableSizes): Least {
  switch (node.kind) {
    case "literal":
      return sized(0);
    case "identifier":
      // Types are values without a cost, and names that are only resolved are free.
      return { cost: 0, size: scope.get(node.name) ?? 0 };
    case "select":
      if (node.typeName !== undefined || node.variableName !== undefined) return sized(0);
      return sized(memberCost(node, node.operand) + least(node.operand, scope).cost);
    case "call":
      return ofCall(node, scope);
    case "list": {
      const cost = isConstant(node) ? 0 : LIST_COST + total(node.elements, scope);
      return { cost, size: node.elements.length - node.optionals.size };
    }
    case "map": {
      const parts = node.entries.flatMap(({ key, value }) => [key, value]);
      const size = node.entries.some(({ isOptional }) => isOptional) ? 0 : node.entries.length;
      return { cost: isConstant(node) ? 0 : MAP_COST + total(parts, scope), size };
    }
    case "struct": {
      const parts = node.fields.map(({ value }) => value);
      return sized(STRUCT_COST + total(parts, scope));
    }
    case "comprehension":
      return ofComprehension(node, scope);
    case "bind":
      // Without a value nothing follows but asking for it.
      return sized(2 + least(node.value, scope).cost);
  }
}

/** Members of optionals, and of what may have none, may not be there. */
function memberCost(node: Node, operand: Node): number {
  const isOptional = node.type?.kind === "optional" || operand.type?.kind === "optional";
  return isOptional || (node.kind === "select" && node.isTest) ? 0 : 1;
}

function ofCall(node: Call, scope: VariableSizes): Least {
  const { name, target, args, isNamespaced, overloads = [] } = node;
  if (isConstant(node)) return sized(0);
  const nodes = target === undefined || isNamespaced === true ? args : [target, ...args];
  const parts = nodes.map((part) => least(part, scope));
  const [first = sized(0), second = sized(0), third = sized(0)] = parts;
  switch (name) {
    case "_&&_":
    case "_||_":
      // The left side may decide alone, or fail at its start, and then the right one decides.
      return sized(Math.min(first.cost, second.cost));
    case "_?_:_":
      return {
        cost: first.cost + Math.min(second.cost, third.cost),
        size: Math.min(second.size, third.size),
      };
    case "or":
    case "orValue":
      return sized(first.cost);
  }
  const inner = parts.reduce((sum, part) => sum + part.cost, 0);
  const [operand] = args;
  if (name === "_[_]" || name === "_[?_]") {
    return sized(first.cost + (operand === undefined ? 0 : memberCost(node, operand)));
  }
  const [overload] = overloads;
  const running = overload?.costs.running;
  const cost = inner + (typeof running === "number" ? Math.min(running, 1) : 0);
  if (name === "_+_") return { cost, size: first.size + second.size };
  if (isNamespaced === true && name === "range" && operand?.kind === "literal") {
    const count = Math.max(0, Number(operand.value));
    return { cost: cost + count, size: count };
  }
  return sized(cost);
}

function ofComprehension(node: Comprehension, scope: VariableSizes): Least {
  const { macro, filter } = node;
  const range = least(node.range, scope);
  const inner = new Map(scope);
  for (const name of node.variables) inner.set(name, 0);
  const body = least(node.body, inner).cost;
  const { turn, kept, result } = LOOP_COSTS[macro];
  const keepsAll = KEEPING.has(macro) && filter === undefined;
  // A filter may skip every element.
  const each = turn + (filter === undefined ? body : least(filter, inner).cost);
  const isSettledEarly = macro === "all" || macro === "exists";
  const turns = isSettledEarly ? Math.min(1, range.size) : range.size;
  const sorting = macro === "sortBy" ? 2 + leastSortCost(range.size) : 0;
  const cost =
    range.cost + turns * (keepsAll ? each + leastKept(node, kept) : each) + result + sorting;
  return { cost, size: keepsAll ? range.size : 0 };
}

/** Of making a list and comparing every key with every other. */
const leastSortCost = (size: number): number => LIST_COST + 1 + 2 * size * size;

/** A list of one constant costs nothing. */
function leastKept({ macro, body }: Comprehension, kept: number): number {
  return macro !== "transformMap" && isConstant(body) ? kept - LIST_COST : kept;
}

const KEEPING: ReadonlySet<string> = new Set(["map", "transformList", "transformMap", "sortBy"]);

function sized(cost: number): Least {
  return { cost, size: 0 };
}

function total(nodes: readonly Node[], scope: VariableSizes): number {
  return nodes.reduce((sum, node) => sum + least(node, scope).cost, 0);
}
