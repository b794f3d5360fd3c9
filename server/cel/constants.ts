/**
 * Which expressions are constant: literals, lists and maps of constants, names of types, and conversions
 * of them. As in kube-apiserver they are evaluated once, when an expression is compiled, and cost nothing when it
 * runs.
 */
import type { Call, Node } from "./syntax.js";

const CONVERSIONS: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "dyn",
  "int",
  "string",
  "timestamp",
  "type",
  "uint",
]);

export function isConstant(node: Node): boolean {
  switch (node.kind) {
    case "literal":
      return true;
    case "identifier":
    case "select":
      return node.typeName !== undefined;
    case "list":
      return node.elements.every(isConstant);
    case "map":
      return node.entries.every(({ key, value }) => isConstant(key) && isConstant(value));
    case "call":
      return isConstantConversion(node) || isInEmptyList(node);
    default:
      return false;
  }
}

export function isConstantConversion({ name, target, args }: Call): boolean {
  const [arg] = args;
  if (target !== undefined || args.length !== 1 || arg === undefined) return false;
  return CONVERSIONS.has(name) && isConstant(arg);
}

/** Nothing is in it, so what is looked for is not looked at. */
export function isInEmptyList({ name, args }: Call): boolean {
  const [, list] = args;
  return name === "@in" && list?.kind === "list" && list.elements.length === 0;
}

/** Whether membership in a list is looked up in a set: its items are constants of primitive types. */
export function isConstantSet(node: Node): boolean {
  return (
    node.kind === "list" &&
    node.elements.every((element) => isConstant(element) && isPrimitive(element))
  );
}

function isPrimitive({ type }: Node): boolean {
  return type?.kind === "simple" && PRIMITIVES.has(type.name);
}

const PRIMITIVES: ReadonlySet<string> = new Set(["bool", "double", "int", "string", "uint"]);
