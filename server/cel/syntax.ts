/**
 * The syntax tree of an expression. The parser creates it, the checker fills in `type` and
 * `overloads`; then it is immutable. Offsets count UTF-16 units from the start.
 */
import type { MacroName } from "./macro-name.js";
import type { Overload } from "./overloads.js";
import type { Type } from "./types.js";
import type { Value } from "./values.js";

interface NodeBase {
  /** The position for errors about the node. */
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
  /** Written with a leading dot: macro variables are not considered. */
  readonly isAbsolute: boolean;
  /** Set by the checker if the name is a type. */
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
  /** Set by the checker for dotted names of a type or a variable. */
  typeName?: string;
  variableName?: string;
  /** Set by the checker if the member is declared by another name. */
  memberName?: string;
}

export interface Call extends NodeBase {
  readonly kind: "call";
  readonly name: string;
  readonly target?: Node;
  readonly args: readonly Node[];
  /** Set by the checker: possible overloads, and whether the target is only part of the name. */
  overloads?: readonly Overload[];
  isNamespaced?: boolean;
}

export interface ListNode extends NodeBase {
  readonly kind: "list";
  readonly elements: readonly Node[];
  /** Indexes of elements written `?x`. */
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
  /** Of the colon. */
  readonly offset: number;
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

/** A macro that iterates over a list or a map. */
export interface Comprehension extends NodeBase {
  readonly kind: "comprehension";
  readonly macro: MacroName;
  readonly range: Node;
  /** One name (element or key), or two (index or key, and value). */
  readonly variables: readonly string[];
  readonly filter?: Node;
  /** The predicate, or the mapped element. */
  readonly body: Node;
}

/** `optMap` and `optFlatMap` bind a name to what an optional has, `cel.bind` to any value. */
export interface Bind extends NodeBase {
  readonly kind: "bind";
  readonly macro: "optMap" | "optFlatMap" | "bind";
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

/** The parts of a node, in source order. */
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

/** "a.b.c" if the node consists of names only, else undefined. */
export function dottedName(node: Node): string | undefined {
  if (node.kind === "identifier") return node.name;
  if (node.kind !== "select" || node.isTest || node.isOptional) return undefined;
  const operand = dottedName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}
