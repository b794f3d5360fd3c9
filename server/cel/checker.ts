/**
 * Checks a syntax tree against an environment's variables, types and functions: infers every node's
 * type and the possible overloads of each call. An invalid node counts as dyn, so that all problems of
 * an expression are found at once. Only writes `type`, `overloads` and the like into the nodes.
 */
import { CelCompileError, type Problem } from "./errors.js";
import type { FunctionTable } from "./function-table.js";
import { checkLiterals } from "./literal-rules.js";
import type { Overload } from "./overloads.js";
import type { LiteralPatterns } from "./regex.js";
import {
  type Bind,
  type Call,
  type Comprehension,
  dottedName,
  type Identifier,
  type MapNode,
  type Node,
  type Select,
  type StructNode,
} from "./syntax.js";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  type Fields,
  formatType,
  hasVariables,
  INT,
  Inference,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  type Type,
  UINT,
} from "./types.js";
import { Uint } from "./values.js";
import { RESERVED } from "./words.js";

export interface CheckerEnvironment {
  readonly variables: ReadonlyMap<string, Type>;
  /** Types that expressions may name. */
  readonly types: ReadonlyMap<string, Type>;
  readonly functions: FunctionTable;
  /** Objects that expressions may create, by name. */
  readonly structs?: StructShapes | undefined;
  /** Receives literal patterns. */
  readonly patterns: LiteralPatterns;
}

/** "nested": any field; nested objects are named by their path. undefined = no such object. */
export type StructShapes = (name: string) => Fields | "nested" | undefined;

/** Returns the type of the whole expression. @throws {CelCompileError} */
export function check(root: Node, source: string, environment: CheckerEnvironment): Type {
  const checker = new Checker(source, environment);
  return checker.run(root);
}

type VariableTypes = ReadonlyMap<string, Type>;

class Checker {
  readonly #source: string;
  readonly #environment: CheckerEnvironment;
  readonly #inference = new Inference();
  readonly #nodes: Node[] = [];
  readonly #problems: Problem[] = [];

  constructor(source: string, environment: CheckerEnvironment) {
    this.#source = source;
    this.#environment = environment;
  }

  run(root: Node): Type {
    this.#check(root, new Map());
    this.#report(this.#problems);
    // Types are resolved at the end, because a later node may settle an earlier one.
    for (const node of this.#nodes) node.type = this.#inference.resolve(node.type ?? DYN, true);
    this.#report(checkLiterals(root, this.#environment.patterns));
    return root.type ?? DYN;
  }

  #report(problems: Problem[]): void {
    const [first, ...others] = problems.sort((one, other) => one.offset - other.offset);
    if (first === undefined) return;
    throw new CelCompileError(first.problem, this.#source, first.offset, others);
  }

  #check(node: Node, scope: VariableTypes): Type {
    const type = this.#typeOf(node, scope);
    node.type = type;
    this.#nodes.push(node);
    return type;
  }

  #typeOf(node: Node, scope: VariableTypes): Type {
    switch (node.kind) {
      case "literal":
        return literalType(node.value);
      case "identifier":
        return this.#identifier(node, scope);
      case "select":
        return this.#select(node, scope);
      case "call":
        return this.#call(node, scope);
      case "list":
        return listOf(
          this.#common(node.elements, scope, (element, index) =>
            node.optionals.has(index) ? this.#unwrapped(element) : element,
          ),
        );
      case "map":
        return this.#map(node, scope);
      case "struct":
        return this.#struct(node, scope);
      case "comprehension":
        return this.#comprehension(node, scope);
      case "bind":
        return this.#bind(node, scope);
    }
  }

  #identifier(node: Identifier, scope: VariableTypes): Type {
    const type =
      (node.isAbsolute ? undefined : scope.get(node.name)) ??
      this.#environment.variables.get(node.name);
    if (type !== undefined) return type;
    const named = this.#environment.types.get(node.name);
    if (named === undefined) {
      return this.#problem(`undeclared reference to '${node.name}' (in container '')`, node);
    }
    node.typeName = node.name;
    return { kind: "type", of: named };
  }

  #select(node: Select, scope: VariableTypes): Type {
    const dotted = dottedName(node);
    if (dotted !== undefined && !node.isTest && this.#isFree(dotted, scope)) {
      const named = this.#environment.types.get(dotted);
      if (named !== undefined) {
        node.typeName = dotted;
        return { kind: "type", of: named };
      }
    }
    const variable = dotted === undefined ? undefined : this.#environment.variables.get(dotted);
    if (variable !== undefined && !node.isTest && !scope.has(firstPart(dotted))) {
      node.variableName = dotted as string;
      return variable;
    }
    const operand = this.#inference.resolve(this.#check(node.operand, scope));
    const isOptionalOperand = operand.kind === "optional";
    const target = isOptionalOperand ? operand.value : operand;
    const field = this.#field(target, node);
    if (node.isTest) return BOOL;
    return isOptionalOperand || node.isOptional ? optionalOf(field) : field;
  }

  #field(target: Type, node: Select): Type {
    switch (target.kind) {
      case "dyn":
      case "var":
        return DYN;
      case "map":
        return target.value;
      case "named": {
        const field = target.fields?.get(node.field);
        if (field !== undefined) return field;
        // Words of the language are escaped in declarations, but may be written plainly.
        const escaped = `__${node.field}__`;
        const word = RESERVED.has(node.field) ? target.fields?.get(escaped) : undefined;
        if (word !== undefined) {
          node.memberName = escaped;
          return word;
        }
        if (target.fields !== undefined) {
          return this.#problem(`undefined field '${node.field}'`, node);
        }
        break;
      }
    }
    return this.#problem(
      `type '${formatType(this.#inference.resolve(target))}' does not support field selection`,
      node,
    );
  }

  /** Whether the first part of a dotted name is not a variable. */
  #isFree(dotted: string, scope: VariableTypes): boolean {
    const first = firstPart(dotted);
    return !scope.has(first) && !this.#environment.variables.has(first);
  }

  #call(node: Call, scope: VariableTypes): Type {
    const { target, args, name } = node;
    const { functions } = this.#environment;
    if (target !== undefined) {
      const prefix = dottedName(target);
      const full = `${prefix}.${name}`;
      const isNamespaced =
        prefix !== undefined && functions.has(full, false) && this.#isFree(full, scope);
      if (isNamespaced) {
        node.isNamespaced = true;
        const types = args.map((arg) => this.#check(arg, scope));
        return this.#resolve(node, full, functions.find(full, false), types);
      }
    }
    const isMethod = target !== undefined;
    const all = isMethod ? [target, ...args] : args;
    const types = all.map((arg) => this.#check(arg, scope));
    if (name === "_&&_" || name === "_||_") {
      all.forEach((arg, index) => {
        this.#expectBool(types[index] ?? DYN, arg);
      });
      node.overloads = functions.find(name, false);
      return BOOL;
    }
    if (!functions.has(name, isMethod) && !functions.has(name, !isMethod)) {
      return this.#problem(`undeclared reference to '${name}' (in container '')`, node);
    }
    return this.#resolve(node, name, functions.find(name, isMethod), types);
  }

  #resolve(node: Call, name: string, overloads: readonly Overload[], types: readonly Type[]): Type {
    const fitting: Overload[] = [];
    let result: Type | undefined;
    // What one overload infers holds for the next ones, as kube-apiserver has it: `[].min()` is an int.
    for (const overload of overloads) {
      const found = this.#apply(overload, types);
      if (found === undefined) continue;
      fitting.push(overload);
      if (result === undefined) result = found;
      else if (!this.#isSame(result, found)) result = DYN;
    }
    if (result === undefined) {
      const shown = types.map((type) => formatType(this.#inference.resolve(type)));
      const receiver = node.target !== undefined && node.isNamespaced !== true ? shown.shift() : "";
      const form = receiver === "" ? `(${shown.join(", ")})` : `${receiver}.(${shown.join(", ")})`;
      return this.#problem(`found no matching overload for '${name}' applied to '${form}'`, node);
    }
    node.overloads = fitting;
    return result;
  }

  #isSame(one: Type, other: Type): boolean {
    const shown = (type: Type) => formatType(this.#inference.resolve(type, true));
    return one.kind === "dyn" || shown(one) === shown(other);
  }

  /** The type of the result; undefined if the arguments do not match. */
  #apply(overload: Overload, types: readonly Type[]): Type | undefined {
    if (overload.parameters.length !== types.length) return undefined;
    // Most have no parameters of types: comparing two numbers tries a dozen overloads.
    if (!overload.parameters.some(hasVariables) && !hasVariables(overload.result)) {
      return this.#inference.assign(types, overload.parameters) ? overload.result : undefined;
    }
    const parameters = new Map<string, Type>();
    const wanted = overload.parameters.map((type) => this.#inference.instantiate(type, parameters));
    if (!this.#inference.assign(types, wanted)) return undefined;
    return this.#inference.instantiate(overload.result, parameters);
  }

  #map(node: MapNode, scope: VariableTypes): Type {
    const key = this.#common(
      node.entries.map((entry) => entry.key),
      scope,
    );
    const value = this.#common(
      node.entries.map((entry) => entry.value),
      scope,
      (type, index) => (node.entries[index]?.isOptional === true ? this.#unwrapped(type) : type),
    );
    return mapOf(key, value);
  }

  #struct(node: StructNode, scope: VariableTypes): Type {
    const { name } = node;
    const shape = this.#environment.structs?.(name);
    if (shape === undefined) {
      return this.#problem(`undeclared reference to '${name}' (in container '')`, node);
    }
    for (const member of node.fields) {
      const { name: field, value, isOptional } = member;
      const found = this.#check(value, scope);
      const type = isOptional ? this.#unwrapped(found) : found;
      const expected =
        shape === "nested"
          ? nestedType(name, field, this.#inference.resolve(type))
          : shape.get(field);
      if (expected === undefined) {
        this.#problem(`undefined field '${field}'`, member);
        continue;
      }
      if (this.#inference.assign([type], [expected])) continue;
      const got = formatType(this.#inference.resolve(type));
      const wanted = formatType(expected);
      this.#problem(
        `expected type of field '${field}' is '${wanted}' but provided type is '${got}'`,
        member,
      );
    }
    return { kind: "named", name };
  }

  /** The common type of all nodes; dyn if they differ. */
  #common(
    nodes: readonly Node[],
    scope: VariableTypes,
    adjust: (type: Type, index: number) => Type = (type) => type,
  ): Type {
    let common: Type | undefined;
    nodes.forEach((node, index) => {
      const type = adjust(this.#check(node, scope), index);
      if (common === undefined) common = type;
      else if (!this.#inference.assign([type], [common])) common = DYN;
      else if (this.#inference.resolve(type).kind === "dyn") common = DYN;
    });
    return common ?? this.#inference.fresh();
  }

  #unwrapped(type: Type): Type {
    const inner = this.#inference.fresh();
    return this.#inference.assign([type], [optionalOf(inner)]) ? inner : DYN;
  }

  #comprehension(node: Comprehension, scope: VariableTypes): Type {
    const range = this.#inference.resolve(this.#check(node.range, scope));
    const inner = new Map(scope);
    const types = this.#variableTypes(range, node);
    node.variables.forEach((name, index) => {
      inner.set(name, types[index] ?? DYN);
    });
    const filter = node.filter === undefined ? BOOL : this.#check(node.filter, inner);
    const body = this.#check(node.body, inner);
    switch (node.macro) {
      case "all":
      case "exists":
        this.#expectBool(body, node.body);
        return BOOL;
      case "existsOne":
        this.#expectCondition(body, INT, node);
        return BOOL;
      case "filter":
        return this.#expectCondition(body, listOf(types[0] ?? DYN), node);
      case "map":
      case "transformList":
        return this.#expectCondition(filter, listOf(body), node);
      case "transformMap": {
        const key = range.kind === "list" ? INT : (types[0] ?? DYN);
        return this.#expectCondition(filter, mapOf(key, body), node);
      }
      case "transformMapEntry": {
        const entry = mapOf(this.#inference.fresh(), this.#inference.fresh());
        if (this.#inference.assign([body], [entry])) {
          return this.#expectCondition(filter, entry, node);
        }
        const form = `(map(dyn, dyn), ${formatType(this.#inference.resolve(body))})`;
        return this.#problem(
          `found no matching overload for 'cel.@mapInsert' applied to '${form}'`,
          node,
        );
      }
      case "sortBy":
        return this.#sorted(node, range, body);
    }
  }

  /** A loop that takes an element or leaves it is a choice between two results. */
  #expectCondition(condition: Type, result: Type, node: Comprehension | Bind): Type {
    if (!this.#inference.assign([condition], [BOOL])) {
      const [is, of] = [condition, result].map((type) => formatType(this.#inference.resolve(type)));
      const problem = `found no matching overload for '_?_:_' applied to '(${is}, ${of}, ${of})'`;
      this.#problem(problem, node);
    }
    return result;
  }

  #sorted(node: Comprehension, range: Type, key: Type): Type {
    const found = this.#inference.resolve(key);
    const isComparable =
      found.kind === "dyn" ||
      found.kind === "var" ||
      (found.kind === "simple" && found.name !== "null");
    if (isComparable && range.kind !== "map") return range;
    const form = `${formatType(range)}.(list(${formatType(found)}))`;
    return this.#problem(
      `found no matching overload for '@sortByAssociatedKeys' applied to '${form}'`,
      node,
    );
  }

  #variableTypes(range: Type, node: Comprehension): readonly Type[] {
    const isPair = node.variables.length === 2;
    switch (range.kind) {
      case "list":
        return isPair ? [INT, range.element] : [range.element];
      case "map":
        return isPair ? [range.key, range.value] : [range.key];
      case "dyn":
        if (range.isAny === true) break;
        return [DYN, DYN];
      case "var":
        return [DYN, DYN];
    }
    this.#problem(
      `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      node.range,
    );
    return [DYN, DYN];
  }

  #bind(node: Bind, scope: VariableTypes): Type {
    const value = this.#check(node.value, scope);
    if (node.macro === "bind") {
      return this.#check(node.body, new Map(scope).set(node.variable, value));
    }
    const inner = this.#inference.fresh();
    if (!this.#inference.assign([value], [optionalOf(inner)])) {
      this.#mismatch("optional_type", value, node.value);
    }
    const body = this.#check(node.body, new Map(scope).set(node.variable, inner));
    if (node.macro === "optMap") return optionalOf(body);
    const result = this.#inference.fresh();
    if (this.#inference.assign([body], [optionalOf(result)])) return optionalOf(result);
    const form = `(bool, ${formatType(this.#inference.resolve(body))}, optional_type(dyn))`;
    return this.#problem(`found no matching overload for '_?_:_' applied to '${form}'`, node);
  }

  #expectBool(type: Type, node: Node): void {
    if (!this.#inference.assign([type], [BOOL])) this.#mismatch("bool", type, node);
  }

  #mismatch(expected: string, type: Type, node: Node): Type {
    const found = formatType(this.#inference.resolve(type));
    return this.#problem(`expected type '${expected}' but found '${found}'`, node);
  }

  /** Records the problem. @returns dyn, which allows every use */
  #problem(problem: string, { offset }: { readonly offset: number }): Type {
    this.#problems.push({ problem, offset });
    return DYN;
  }
}

/** A nested object is named by its path: `Object.spec` in `Object`. */
function nestedType(owner: string, field: string, type: Type): Type {
  const root = firstPart(`${owner}.`);
  const isMade = (one: Type) =>
    one.kind === "named" && (one.name === root || one.name.startsWith(`${root}.`));
  const nested: Type = { kind: "named", name: `${owner}.${field}` };
  if (isMade(type)) return nested;
  return type.kind === "list" && isMade(type.element) ? { kind: "list", element: nested } : DYN;
}

function firstPart(dotted = ""): string {
  return dotted.slice(0, dotted.indexOf("."));
}

function literalType(value: unknown): Type {
  switch (typeof value) {
    case "boolean":
      return BOOL;
    case "bigint":
      return INT;
    case "number":
      return DOUBLE;
    case "string":
      return STRING;
  }
  if (value === null) return NULL;
  return value instanceof Uint ? UINT : BYTES;
}
