/**
 * The syntax tree of an expression, as the parser makes it. The checker fills in `type` and
 * `overloads`; nothing changes a tree afterwards. Offsets count UTF-16 units from the start.
 */
import type { MacroName } from "./macro-name.js";
import type { Overload } from "./overloads.js";
import type { Type } from "./types.js";
import type { Value } from "./values.js";

interface NodeBase {
  /** Where errors about the node point to. */
  readonly offset: number;
  /** Set by the checker. */
  type?: Type;
}

export interface Literal extends NodeBase {
  readonly kind: "literal";
  readonly value: Value;
}

export interface Identifier extends NodeBase {
  readonly kind: "identifier";
  readonly name: string;
  /** Written with a leading dot: variables of macros are not looked at. */
  readonly isAbsolute: boolean;
  /** Set by the checker where the name is that of a type. */
  typeName?: string;
}

export interface Select extends NodeBase {
  readonly kind: "select";
  readonly operand: Node;
  readonly field: string;
  /** `a.?b`. */
  readonly isOptional: boolean;
  /** `has(a.b)`. */
  readonly isTest: boolean;
  /** Set by the checker: a name with dots such as that of a type, or of a variable. */
  typeName?: string;
  variableName?: string;
}

export interface Call extends NodeBase {
  readonly kind: "call";
  readonly name: string;
  readonly target?: Node;
  readonly args: readonly Node[];
  /** Set by the checker: what the call may mean, and whether the target is but a part of the name. */
  overloads?: readonly Overload[];
  isNamespaced?: boolean;
}

export interface ListNode extends NodeBase {
  readonly kind: "list";
  readonly elements: readonly Node[];
  /** Places of elements that are written `?x`. */
  readonly optionals: ReadonlySet<number>;
}

export interface MapEntry {
  readonly key: Node;
  readonly value: Node;
  readonly isOptional: boolean;
}

export interface MapNode extends NodeBase {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface StructField {
  readonly name: string;
  readonly value: Node;
  readonly isOptional: boolean;
}

/** `Name{field: value}`. */
export interface StructNode extends NodeBase {
  readonly kind: "struct";
  readonly name: string;
  readonly fields: readonly StructField[];
}

/** A macro that goes through a list or a map. */
export interface Comprehension extends NodeBase {
  readonly kind: "comprehension";
  readonly macro: MacroName;
  readonly range: Node;
  /** One name (element or key), or two (index or key, and value). */
  readonly variables: readonly string[];
  readonly filter?: Node;
  /** The predicate, or what an element becomes. */
  readonly body: Node;
}

/** `cel.bind`, `optMap` and `optFlatMap`: a name for a value within an expression. */
export interface Bind extends NodeBase {
  readonly kind: "bind";
  readonly macro: "bind" | "optMap" | "optFlatMap";
  readonly variable: string;
  readonly value: Node;
  readonly body: Node;
}

export type Node =
  | Literal
  | Identifier
  | Select
  | Call
  | ListNode
  | MapNode
  | StructNode
  | Comprehension
  | Bind;

/** The parts of a node, in the order in which they are written. */
export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "literal":
    case "identifier":
      return [];
    case "struct":
      return node.fields.map(({ value }) => value);
    case "select":
      return [node.operand];
    case "call":
      return node.target === undefined ? node.args : [node.target, ...node.args];
    case "list":
      return node.elements;
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "comprehension":
      return node.filter === undefined
        ? [node.range, node.body]
        : [node.range, node.filter, node.body];
    case "bind":
      return [node.value, node.body];
  }
}

/** "a.b.c" where the node is nothing but names; undefined otherwise. */
export function dottedName(node: Node): string | undefined {
  if (node.kind === "identifier") return node.name;
  if (node.kind !== "select" || node.isTest || node.isOptional) return undefined;
  const operand = dottedName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}
