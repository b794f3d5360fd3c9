/**
 * The minimum cost of any evaluation with a value, from the expression alone: literal lists have known
 * sizes, request data may be empty, optional parts are skipped. It finds expressions that no evaluation can
 * afford, even without bounds on their input.
 */
import { LIST_COST, MAP_COST, TURN_COST } from "./costs.js";
import type { Call, Comprehension, Node } from "./syntax.js";

interface Least {
  readonly cost: number;
  /** Known items of a list or entries of a map. */
  readonly size: number;
}

/** Sizes of the values of macro variables. */
type Scope = ReadonlyMap<string, number>;

export function leastCost(root: Node): number {
  return least(root, new Map()).cost;
}

function least(node: Node, scope: Scope): Least {
  switch (node.kind) {
    case "literal":
      return sized(0);
    case "identifier":
      // Types are values without a cost.
      return { cost: node.typeName === undefined ? 1 : 0, size: scope.get(node.name) ?? 0 };
    case "select":
      if (node.typeName !== undefined) return sized(0);
      if (node.variableName !== undefined) return sized(1);
      return sized(1 + least(node.operand, scope).cost);
    case "call":
      return ofCall(node, scope);
    case "list": {
      const cost = LIST_COST + node.elements.length + total(node.elements, scope);
      return { cost, size: node.elements.length - node.optionals.size };
    }
    case "map": {
      const parts = node.entries.flatMap(({ key, value }) => [key, value]);
      const size = node.entries.some(({ isOptional }) => isOptional) ? 0 : node.entries.length;
      return { cost: MAP_COST + node.entries.length + total(parts, scope), size };
    }
    case "struct": {
      const parts = node.fields.map(({ value }) => value);
      return sized(MAP_COST + parts.length + total(parts, scope));
    }
    case "comprehension":
      return ofComprehension(node, scope);
    case "bind": {
      const value = least(node.value, scope);
      // Without a value nothing follows.
      if (node.macro !== "bind") return sized(1 + value.cost);
      const body = least(node.body, new Map(scope).set(node.variable, value.size));
      return { cost: 1 + value.cost + body.cost, size: body.size };
    }
  }
}

function ofCall({ name, target, args, isNamespaced }: Call, scope: Scope): Least {
  const nodes = target === undefined || isNamespaced === true ? args : [target, ...args];
  const parts = nodes.map((node) => least(node, scope));
  const [first = sized(0), second = sized(0), third = sized(0)] = parts;
  switch (name) {
    case "_&&_":
    case "_||_":
      // The left side may decide alone, or fail at its start, and then the right one decides.
      return sized(Math.min(first.cost, second.cost));
    case "_?_:_":
      return {
        cost: 1 + first.cost + Math.min(second.cost, third.cost),
        size: Math.min(second.size, third.size),
      };
    case "or":
    case "orValue":
      return sized(1 + first.cost);
  }
  const cost = 1 + parts.reduce((sum, part) => sum + part.cost, 0);
  if (name === "_+_") return { cost, size: first.size + second.size };
  const [counted] = args;
  if (isNamespaced === true && name === "range" && counted?.kind === "literal") {
    const count = Math.max(0, Number(counted.value));
    return { cost: cost + count, size: count };
  }
  return sized(cost);
}

function ofComprehension(node: Comprehension, scope: Scope): Least {
  const { macro, filter } = node;
  const range = least(node.range, scope);
  const inner = new Map(scope);
  for (const name of node.variables) inner.set(name, 0);
  const body = least(node.body, inner).cost;
  // A filter may skip every element.
  const each = TURN_COST[macro] + (filter === undefined ? body : least(filter, inner).cost);
  const isSettledEarly = macro === "all" || macro === "exists";
  const turns = isSettledEarly ? Math.min(1, range.size) : range.size;
  const keepsAll = macro === "sortBy" || (KEEPING.has(macro) && filter === undefined);
  return { cost: range.cost + turns * each, size: keepsAll ? range.size : 0 };
}

const KEEPING: ReadonlySet<string> = new Set(["map", "transformList", "transformMap"]);

function sized(cost: number): Least {
  return { cost, size: 0 };
}

function total(nodes: readonly Node[], scope: Scope): number {
  return nodes.reduce((sum, node) => sum + least(node, scope).cost, 0);
}
