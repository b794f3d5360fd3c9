/**
 * The types of expressions: form, names and assignability. `dyn` is assignable to and from everything;
 * its actual type shows at run time. A variable (`var`) is a type to be inferred, such as the element
 * type of `[]`.
 */

export type Type =
  | { readonly kind: "simple"; readonly name: SimpleName }
  /** `any`: a scalar of unknown type; what is made of it is plain dyn. */
  | { readonly kind: "dyn"; readonly isAny?: true }
  | { readonly kind: "list"; readonly element: Type; readonly identity?: ItemIdentity }
  | { readonly kind: "map"; readonly key: Type; readonly value: Type }
  | { readonly kind: "optional"; readonly value: Type }
  | { readonly kind: "type"; readonly of: Type }
  /** An object type of the environment, or an extension type (without fields). */
  | {
      readonly kind: "named";
      readonly name: string;
      readonly fields?: Fields;
      readonly members?: ReadonlyMap<string, ObjectMember>;
    }
  | { readonly kind: "var"; readonly id: number | string };

export type Fields = ReadonlyMap<string, Type>;

/** The mapping of a field to the caller's objects. */
export interface ObjectMember {
  /** Its JSON name, if expressions need another one. */
  readonly jsonName?: string;
  /** Whether null is a value instead of unset. */
  readonly isNullable?: boolean;
}

/** The identity of items in an unordered list: their value, or the named members. */
export type ItemIdentity = "value" | readonly string[];

export type SimpleName =
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "null"
  | "timestamp"
  | "duration";

const simple = (name: SimpleName): Type => ({ kind: "simple", name });

export const DYN: Type = { kind: "dyn" };
export const ANY: Type = { kind: "dyn", isAny: true };
export const BOOL = simple("bool");
export const INT = simple("int");
export const UINT = simple("uint");
export const DOUBLE = simple("double");
export const STRING = simple("string");
export const BYTES = simple("bytes");
export const NULL = simple("null");
export const TIMESTAMP = simple("timestamp");
export const DURATION = simple("duration");

export const listOf = (element: Type): Type => ({ kind: "list", element });
export const mapOf = (key: Type, value: Type): Type => ({ kind: "map", key, value });
export const optionalOf = (value: Type): Type => ({ kind: "optional", value });

const SIMPLE_TYPES: ReadonlyMap<string, Type> = new Map([
  ...[BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION].map(
    (type): [string, Type] => [type.kind === "simple" ? type.name : "", type],
  ),
  ["dyn", DYN],
  ["any", ANY],
]);

/** Types that an expression may name (`type(x) == string`). */
export const NAMED_TYPES: ReadonlyMap<string, Type> = new Map([
  ["bool", BOOL],
  ["int", INT],
  ["uint", UINT],
  ["double", DOUBLE],
  ["string", STRING],
  ["bytes", BYTES],
  ["null_type", NULL],
  ["list", listOf(DYN)],
  ["map", mapOf(DYN, DYN)],
  ["type", { kind: "type", of: DYN }],
  ["optional_type", optionalOf(DYN)],
  ["google.protobuf.Timestamp", TIMESTAMP],
  ["google.protobuf.Duration", DURATION],
]);

/** Type names in kube-apiserver's notation. */
export function formatType(type: Type): string {
  switch (type.kind) {
    case "simple":
      return type.name;
    case "dyn":
      return type.isAny === true ? "any" : "dyn";
    case "list":
      return `list(${formatType(type.element)})`;
    case "map":
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case "optional":
      return `optional_type(${formatType(type.value)})`;
    case "type":
      return `type(${formatType(type.of)})`;
    case "named":
      return type.name;
    case "var":
      return "dyn";
  }
}

/** "list<A>", "map<string, dyn>", "optional<A>", "type<A>", "quantity": for the tables of functions. */
export function parseType(text: string): Type {
  const trimmed = text.trim();
  const open = trimmed.indexOf("<");
  if (open < 0) {
    const known = SIMPLE_TYPES.get(trimmed);
    if (known !== undefined) return known;
    return /^[A-Z]$/.test(trimmed)
      ? { kind: "var", id: trimmed }
      : { kind: "named", name: trimmed };
  }
  const parts = splitTypes(trimmed.slice(open + 1, -1)).map(parseType);
  const [first = DYN, second = DYN] = parts;
  switch (trimmed.slice(0, open)) {
    case "list":
      return listOf(first);
    case "map":
      return mapOf(first, second);
    case "optional":
      return optionalOf(first);
    default:
      return { kind: "type", of: first };
  }
}

/** Splits at commas outside angle brackets. */
export function splitTypes(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "<") depth++;
    else if (text[at] === ">") depth--;
    else if (text[at] === "," && depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return text.trim() === "" ? [] : [...parts, text.slice(start)];
}

/** Whether variables ("A", "B") are in the type. */
export function hasVariables(type: Type): boolean {
  switch (type.kind) {
    case "list":
      return hasVariables(type.element);
    case "map":
      return hasVariables(type.key) || hasVariables(type.value);
    case "optional":
      return hasVariables(type.value);
    case "type":
      return hasVariables(type.of);
    default:
      return type.kind === "var";
  }
}

/** The inferred type variables, and assignability under them. */
export class Inference {
  readonly #bindings = new Map<number | string, Type>();
  /** Variables in binding order with what they were before, so that bindings can be undone. */
  readonly #trail: { readonly id: number | string; readonly before: Type | undefined }[] = [];
  #next = 0;

  fresh(): Type {
    return { kind: "var", id: this.#next++ };
  }

  /** Replaces a declaration's parameters ("A", "B") by fresh variables. */
  instantiate(type: Type, parameters: Map<string, Type>): Type {
    switch (type.kind) {
      case "list":
        return listOf(this.instantiate(type.element, parameters));
      case "map":
        return mapOf(
          this.instantiate(type.key, parameters),
          this.instantiate(type.value, parameters),
        );
      case "optional":
        return optionalOf(this.instantiate(type.value, parameters));
      case "type":
        return { kind: "type", of: this.instantiate(type.of, parameters) };
      case "var": {
        const name = String(type.id);
        const known = parameters.get(name) ?? this.fresh();
        parameters.set(name, known);
        return known;
      }
      default:
        return type;
    }
  }

  /** The type with all inferred variables replaced; unknown ones become dyn if `isFinal`. */
  resolve(type: Type, isFinal = false): Type {
    switch (type.kind) {
      case "list":
        return listOf(this.resolve(type.element, isFinal));
      case "map":
        return mapOf(this.resolve(type.key, isFinal), this.resolve(type.value, isFinal));
      case "optional":
        return optionalOf(this.resolve(type.value, isFinal));
      case "type":
        return { kind: "type", of: this.resolve(type.of, isFinal) };
      case "var": {
        const bound = this.#shallow(type);
        if (bound.kind !== "var") return this.resolve(bound, isFinal);
        return isFinal ? DYN : bound;
      }
      default:
        return type;
    }
  }

  /** Whether every `from` is assignable to its `to`; inferred variables are kept only on success. */
  assign(from: readonly Type[], to: readonly Type[]): boolean {
    const mark = this.#trail.length;
    let fits = from.length === to.length;
    for (let at = 0; fits && at < from.length; at++) {
      fits = this.#fits(from[at] ?? DYN, to[at] ?? DYN);
    }
    if (!fits) this.#undo(mark);
    return fits;
  }

  /** Runs `probe` and undoes its inferences. */
  tentatively<T>(probe: () => T): T {
    const mark = this.#trail.length;
    try {
      return probe();
    } finally {
      this.#undo(mark);
    }
  }

  #undo(mark: number): void {
    while (this.#trail.length > mark) {
      const last = this.#trail.pop();
      if (last?.before !== undefined) this.#bindings.set(last.id, last.before);
      else if (last !== undefined) this.#bindings.delete(last.id);
    }
  }

  #fits(from: Type, to: Type): boolean {
    const source = this.#shallow(from);
    const target = this.#shallow(to);
    // Of two variables the source is bound to the target, so that chains stay short.
    if (source.kind === "var") return this.#bind(source.id, target);
    if (target.kind === "var") return this.#bind(target.id, source);
    if (!this.#agree(source, target)) return false;
    // Of what two uses say of a variable the more general counts: a text or anything is anything.
    if (to.kind === "var") this.#widen(to.id, target, source);
    else if (from.kind === "var") this.#widen(from.id, source, target);
    return true;
  }

  #agree(
    source: Exclude<Type, { readonly kind: "var" }>,
    target: Exclude<Type, { readonly kind: "var" }>,
  ): boolean {
    if (target.kind === "dyn" || source.kind === "dyn") return true;
    if (source.kind === "simple" && source.name === "null") return isNullable(target);
    switch (target.kind) {
      case "simple":
        return source.kind === "simple" && source.name === target.name;
      case "list":
        return source.kind === "list" && this.#fits(source.element, target.element);
      case "map":
        return (
          source.kind === "map" &&
          this.#fits(source.key, target.key) &&
          this.#fits(source.value, target.value)
        );
      case "optional":
        return source.kind === "optional" && this.#fits(source.value, target.value);
      case "type":
        return source.kind === "type";
      case "named":
        return source.kind === "named" && source.name === target.name;
    }
  }

  #shallow(type: Type): Type {
    let found = type;
    while (found.kind === "var") {
      const bound = this.#bindings.get(found.id);
      if (bound === undefined) return found;
      found = bound;
    }
    return found;
  }

  #bind(id: number | string, type: Type): boolean {
    if (type.kind === "var" && type.id === id) return true;
    if (this.#occurs(id, type)) return false;
    this.#set(id, type);
    return true;
  }

  #set(id: number | string, type: Type): void {
    this.#trail.push({ id, before: this.#bindings.get(id) });
    this.#bindings.set(id, type);
  }

  /** @param id of the variable or of one that it is bound to, down to `bound` */
  #widen(id: number | string, bound: Type, other: Type): void {
    // Types without parts agree only when they are the same, or one is anything.
    if (bound.kind === "dyn" || (other.kind !== "dyn" && !hasParts(other))) return;
    if (!covers(this.resolve(other), this.resolve(bound))) return;
    let last = id;
    for (;;) {
      const next = this.#bindings.get(last);
      if (next?.kind !== "var") break;
      last = next.id;
    }
    if (!this.#occurs(last, other)) this.#set(last, other);
  }

  #occurs(id: number | string, type: Type): boolean {
    const found = this.#shallow(type);
    switch (found.kind) {
      case "var":
        return found.id === id;
      case "list":
        return this.#occurs(id, found.element);
      case "map":
        return this.#occurs(id, found.key) || this.#occurs(id, found.value);
      case "optional":
        return this.#occurs(id, found.value);
      default:
        return false;
    }
  }
}

function hasParts({ kind }: Type): boolean {
  return kind === "list" || kind === "map" || kind === "optional";
}

/** Types that null is assignable to, besides its own. */
function isNullable(type: Type): boolean {
  if (type.kind === "simple") return ["null", "timestamp", "duration"].includes(type.name);
  return type.kind === "named" || type.kind === "optional";
}

/** Whether the types are equal, or `general` has dyn in place of a more specific type. */
export function covers(general: Type, type: Type): boolean {
  if (general.kind === "dyn") return true;
  switch (type.kind) {
    case "simple":
      return general.kind === "simple" && general.name === type.name;
    case "named":
      return general.kind === "named" && general.name === type.name;
    case "list":
      return general.kind === "list" && covers(general.element, type.element);
    case "map":
      return (
        general.kind === "map" && covers(general.key, type.key) && covers(general.value, type.value)
      );
    case "optional":
      return general.kind === "optional" && covers(general.value, type.value);
    case "type":
      return general.kind === "type";
    default:
      return false;
  }
}
