/**
 * Finds the paths that an expression selects from its variables: `claims.email`,
 * `claims["email"]`, `claims.?email` and `has(claims.email)` all select ["claims", "email"].
 */
import { childrenOf, type Node } from "./syntax.js";

/** Only the longest paths; each also stands for its prefixes. */
export function selectedPaths(root: Node): readonly (readonly string[])[] {
  const paths: (readonly string[])[] = [];
  collect(root, new Set(), paths);
  return paths;
}

function collect(node: Node, hidden: ReadonlySet<string>, paths: (readonly string[])[]): void {
  const path = pathOf(node, hidden);
  if (path !== undefined) {
    paths.push(path);
    return;
  }
  if (node.kind === "comprehension") {
    collect(node.range, hidden, paths);
    const inner = new Set([...hidden, ...node.variables]);
    if (node.filter !== undefined) collect(node.filter, inner, paths);
    collect(node.body, inner, paths);
    return;
  }
  if (node.kind === "bind") {
    collect(node.value, hidden, paths);
    collect(node.body, new Set([...hidden, node.variable]), paths);
    return;
  }
  for (const child of childrenOf(node)) collect(child, hidden, paths);
}

/** undefined unless the node is a chain of names that starts with a variable. */
function pathOf(node: Node, hidden: ReadonlySet<string>): readonly string[] | undefined {
  switch (node.kind) {
    case "identifier":
      return hidden.has(node.name) && !node.isAbsolute ? undefined : [node.name];
    case "select": {
      const operand = pathOf(node.operand, hidden);
      return operand === undefined ? undefined : [...operand, node.field];
    }
    case "call": {
      const [target, key] = node.args;
      const isIndex = node.name === "_[_]" || node.name === "_[?_]";
      if (!isIndex || target === undefined || key?.kind !== "literal") return undefined;
      const operand = pathOf(target, hidden);
      if (operand === undefined || typeof key.value !== "string") return undefined;
      return [...operand, key.value];
    }
    default:
      return undefined;
  }
}
