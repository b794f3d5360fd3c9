/**
 * The type of `self` in a rule: a structural schema as a CEL type, with the bounds of its values for the
 * cost estimate. Sizes without a bound are limited by the size of a request. Types and bounds are
 * kube-apiserver's, to the character: they decide which rules a definition may have.
 */
import {
  type CelObjectType,
  type CelType,
  type Declared,
  type ObjectMember,
  scalarOf,
} from "../cel/environment.js";
import type { Structural } from "./structural.js";

export interface RuleTypes {
  /** undefined = such values support no rules. */
  readonly self: CelType | undefined;
  readonly types: readonly CelObjectType[];
  readonly declared: Declared | undefined;
}

/** Maximum size of one request. */
const REQUEST_BYTES_MAX = 3 * 1024 * 1024;
/** An opening and a closing quote or bracket. */
const BRACKETS = 2;
/** The longest text in one request. */
const TEXT_MAX = REQUEST_BYTES_MAX - BRACKETS;
/** Characters have up to four bytes each. */
const CHARACTER_BYTES_MAX = 4;

export function ruleTypes(node: Structural, isResource: boolean): RuleTypes {
  const builder = new TypeBuilder();
  const self = builder.typeOf(node, isResource);
  return { self: self?.type, types: builder.types, declared: self?.declared };
}

interface Typed {
  readonly type: CelType;
  /** Minimum bytes of such a value in JSON. */
  readonly bytesMin: number;
  readonly declared: Declared;
}

function scalar(type: CelType, bytesMin: number, max: number): Typed {
  return { type, bytesMin, declared: scalarOf(Math.max(0, max)) };
}

/** Keys of maps have no bound of their own. */
const KEY = scalarOf(0);

class TypeBuilder {
  readonly types: CelObjectType[] = [];

  typeOf(node: Structural, isResource: boolean): Typed | undefined {
    if (node.isIntOrString) return scalar("dyn", 1, textMax(node));
    switch (node.type) {
      case "array":
        return this.#list(node);
      case "object":
        return typeof node.additional === "object"
          ? this.#map(node, node.additional)
          : this.#object(node, isResource);
      case "string":
        return textOf(node);
      case "boolean":
        return scalar("bool", 4, 0);
      case "integer":
        return scalar("int", 1, 0);
      case "number":
        return scalar("double", 1, 0);
      default:
        return undefined;
    }
  }

  #list(node: Structural): Typed | undefined {
    const { items, schema } = node;
    const item = items && this.typeOf(items, items.isEmbedded);
    if (item === undefined) return undefined;
    const max = schema.maxItems ?? Math.floor(TEXT_MAX / (item.bytesMin + 1));
    const list: CelType =
      node.listType === "atomic"
        ? { list: item.type }
        : {
            list: item.type,
            identity: node.listType === "set" ? ("value" as const) : node.listMapKeys,
          };
    const declared = { ...scalarOf(Math.max(0, max)), element: item.declared };
    return { type: list, bytesMin: BRACKETS, declared };
  }

  #map(node: Structural, values: Structural): Typed | undefined {
    const value = this.typeOf(values, values.isEmbedded);
    if (value === undefined) return undefined;
    // An entry has at least an empty quoted key, a colon and a comma.
    const max = node.schema.maxProperties ?? Math.floor(TEXT_MAX / (value.bytesMin + 6));
    const declared = { ...scalarOf(Math.max(0, max)), key: KEY, element: value.declared };
    return { type: { map: value.type }, bytesMin: BRACKETS, declared };
  }

  #object(node: Structural, isResource: boolean): Typed {
    const fields: Record<string, CelType> = {};
    const members: Record<string, ObjectMember> = {};
    const bounds = new Map<string, Declared>();
    const required = new Set(node.schema.required ?? []);
    let bytesMin = BRACKETS;
    const properties = new Map<string, Structural | Typed>(node.properties);
    if (isResource && !declaresItself(node)) {
      properties.set("apiVersion", scalar("string", BRACKETS, TEXT_MAX));
      properties.set("kind", scalar("string", BRACKETS, TEXT_MAX));
      properties.set("metadata", this.#metadata());
    }
    for (const [name, property] of properties) {
      const isTyped = "bytesMin" in property;
      const known = isTyped ? property : this.typeOf(property, property.isEmbedded);
      if (known === undefined) continue;
      if (required.has(name) && (isTyped || property.default === undefined)) {
        bytesMin += Buffer.byteLength(name) + 4 + known.bytesMin;
      }
      const field = escapeName(name);
      if (field === undefined) continue;
      fields[field] = known.type;
      bounds.set(field, known.declared);
      const isNullable = !isTyped && property.isNullable;
      if (field !== name || isNullable) {
        members[field] = {
          ...(field === name ? {} : { jsonName: name }),
          ...(isNullable ? { isNullable: true } : {}),
        };
      }
    }
    const declared = { ...scalarOf(0), field: (name: string) => bounds.get(name) };
    return { type: this.#named(fields, members), bytesMin, declared };
  }

  #metadata(): Typed {
    const text = scalarOf(TEXT_MAX);
    return {
      type: this.#named({ name: "string", generateName: "string" }, {}),
      bytesMin: BRACKETS,
      declared: {
        ...scalarOf(0),
        field: (name) => (name === "name" || name === "generateName" ? text : undefined),
      },
    };
  }

  #named(
    fields: CelObjectType["fields"],
    members: Readonly<Record<string, ObjectMember>>,
  ): CelType {
    // A name that no expression can contain.
    const name = `object@${this.types.length}`;
    const hasMembers = Object.keys(members).length > 0;
    this.types.push({ name, fields, ...(hasMembers ? { members } : {}) });
    return { object: name };
  }
}

/** Whether a resource's schema has all that every resource has; else that takes its place. */
function declaresItself({ properties }: Structural): boolean {
  const metadata = properties.get("metadata");
  const isText = (node: Structural | undefined) => node?.type === "string";
  return (
    isText(properties.get("kind")) &&
    isText(properties.get("apiVersion")) &&
    metadata?.type === "object" &&
    isText(metadata.properties.get("name")) &&
    isText(metadata.properties.get("generateName"))
  );
}

function textOf(node: Structural): Typed {
  const { maxLength, enum: allowed = [] } = node.schema;
  switch (node.format) {
    case "byte":
      return scalar("bytes", BRACKETS, maxLength ?? TEXT_MAX);
    case "duration":
      return scalar("duration", BRACKETS + 1, 32);
    case "date":
      return scalar("timestamp", BRACKETS + 10, 12);
    case "date-time":
      return scalar("timestamp", BRACKETS + 19, 32);
  }
  if (maxLength !== undefined || allowed.length === 0) {
    return scalar("string", BRACKETS, textMax(node));
  }
  const lengths = allowed.map((value) =>
    typeof value === "string" ? Buffer.byteLength(value) : 0,
  );
  return scalar("string", BRACKETS, Math.max(...lengths));
}

function textMax({ schema: { maxLength } }: Structural): number {
  return maxLength === undefined ? TEXT_MAX : maxLength * CHARACTER_BYTES_MAX;
}

/** Reserved words of CEL. */
const RESERVED: ReadonlySet<string> = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);

/** The name of a member in expressions; undefined = it cannot be expressed. */
export function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  const escaped = name.replaceAll(/__|[.\-/]/g, (part) => ESCAPES[part] ?? part);
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(escaped) ? escaped : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** How often a value of a place can occur in one request without a bound. */
export function countMax(bytesMin: number): number {
  return Math.floor(REQUEST_BYTES_MAX / (bytesMin + 1));
}

/** Minimum bytes of the schema's values in JSON. */
export function bytesMinOf(node: Structural, isResource: boolean): number {
  return new TypeBuilder().typeOf(node, isResource)?.bytesMin ?? 1;
}
