/**
 * The type of `self` in a rule: a structural schema as a CEL type, with the maximum sizes of its
 * values for the cost estimate. Sizes without a bound are limited by the size of a request.
 */
import type { CelObjectType, CelType, ObjectMember } from "../cel/environment.js";
import type { Structural } from "./structural.js";

export interface RuleTypes {
  /** undefined = such values support no rules. */
  readonly self: CelType | undefined;
  readonly types: readonly CelObjectType[];
  /** Maximum sizes by path below the value: "", ".spec.names", ".spec.names[]". */
  readonly sizes: ReadonlyMap<string, number>;
}

/** Maximum size of one request. */
const REQUEST_BYTES_MAX = 3 * 1024 * 1024;
/** An opening and a closing quote or bracket. */
const BRACKETS = 2;

export function ruleTypes(node: Structural, isResource: boolean): RuleTypes {
  const builder = new TypeBuilder();
  const self = builder.typeOf(node, isResource, "")?.type;
  return { self, types: builder.types, sizes: builder.sizes };
}

interface Typed {
  readonly type: CelType;
  /** Minimum bytes of such a value in JSON. */
  readonly bytesMin: number;
}

class TypeBuilder {
  readonly types: CelObjectType[] = [];
  readonly sizes = new Map<string, number>();

  typeOf(node: Structural, isResource: boolean, path: string): Typed | undefined {
    if (node.isIntOrString) return this.#sized(path, "dyn", 1, REQUEST_BYTES_MAX - BRACKETS);
    switch (node.type) {
      case "array":
        return this.#list(node, path);
      case "object":
        return typeof node.additional === "object"
          ? this.#map(node, node.additional, path)
          : this.#object(node, isResource, path);
      case "string":
        return this.#text(node, path);
      case "boolean":
        return { type: "bool", bytesMin: 4 };
      case "integer":
        return { type: "int", bytesMin: 1 };
      case "number":
        return { type: "double", bytesMin: 1 };
      default:
        return undefined;
    }
  }

  #sized(path: string, type: CelType, bytesMin: number, size: number): Typed {
    this.sizes.set(path, Math.max(0, size));
    return { type, bytesMin };
  }

  #list(node: Structural, path: string): Typed | undefined {
    const { items, schema } = node;
    const item = items && this.typeOf(items, items.isEmbedded, `${path}[]`);
    if (item === undefined) return undefined;
    const size = schema.maxItems ?? (REQUEST_BYTES_MAX - BRACKETS) / (item.bytesMin + 1);
    const list: CelType =
      node.listType === "atomic"
        ? { list: item.type }
        : {
            list: item.type,
            identity: node.listType === "set" ? ("value" as const) : node.listMapKeys,
          };
    return this.#sized(path, list, BRACKETS, Math.floor(size));
  }

  #map(node: Structural, values: Structural, path: string): Typed | undefined {
    const value = this.typeOf(values, values.isEmbedded, `${path}[]`);
    if (value === undefined) return undefined;
    // An entry has at least an empty quoted key, a colon and a comma.
    const size = node.schema.maxProperties ?? (REQUEST_BYTES_MAX - BRACKETS) / (value.bytesMin + 6);
    return this.#sized(path, { map: value.type }, BRACKETS, Math.floor(size));
  }

  #object(node: Structural, isResource: boolean, path: string): Typed {
    const fields: Record<string, CelType> = {};
    const members: Record<string, ObjectMember> = {};
    const required = new Set(node.schema.required ?? []);
    let bytesMin = BRACKETS;
    const properties = [...node.properties].filter(
      ([name]) => !(isResource && RESOURCE_FIELDS.has(name)),
    );
    for (const [name, property] of properties) {
      const field = escapeName(name);
      const at = `${path}.${field ?? name}`;
      const known = this.typeOf(property, property.isEmbedded, at);
      if (known === undefined || field === undefined) continue;
      fields[field] = known.type;
      if (field !== name || property.isNullable) {
        members[field] = {
          ...(field === name ? {} : { jsonName: name }),
          ...(property.isNullable ? { isNullable: true } : {}),
        };
      }
      const isThere = required.has(name) && property.default === undefined;
      if (isThere) bytesMin += name.length + 4 + known.bytesMin;
    }
    if (isResource) {
      fields.apiVersion = "string";
      fields.kind = "string";
      fields.metadata = this.#named({ name: "string", generateName: "string" }, {});
      for (const part of ["apiVersion", "kind", "metadata.name", "metadata.generateName"]) {
        this.sizes.set(`${path}.${part}`, NAME_LENGTH_MAX);
      }
    }
    return { type: this.#named(fields, members), bytesMin };
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

  #text(node: Structural, path: string): Typed {
    const { maxLength, enum: allowed } = node.schema;
    const longest = REQUEST_BYTES_MAX - BRACKETS;
    switch (node.format) {
      case "byte":
        return this.#sized(path, "bytes", BRACKETS, maxLength ?? longest);
      case "duration":
        return { type: "duration", bytesMin: BRACKETS + 1 };
      case "date":
        return { type: "timestamp", bytesMin: BRACKETS + 10 };
      case "date-time":
        return { type: "timestamp", bytesMin: BRACKETS + 20 };
    }
    if (maxLength !== undefined) {
      // Characters have up to four bytes each.
      return this.#sized(path, "string", BRACKETS, Math.min(maxLength * 4, longest));
    }
    const texts = (allowed ?? []).filter((value) => typeof value === "string");
    const isEnum = texts.length > 0 && texts.length === allowed?.length;
    const size = isEnum ? Math.max(...texts.map((text) => text.length)) : longest;
    return this.#sized(path, "string", BRACKETS, size);
  }
}

const RESOURCE_FIELDS: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);
const NAME_LENGTH_MAX = 253;

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
  return new TypeBuilder().typeOf(node, isResource, "")?.bytesMin ?? 1;
}
