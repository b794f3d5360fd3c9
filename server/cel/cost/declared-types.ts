/**
 * The bounds of variables that are declared by types: what one request can hold, or a known limit by
 * path. Types may be recursive, so each part is made when it is asked for.
 */
import { DYN, STRING, type Type } from "../types.js";
import type { Declared, DeclaredRoots } from "./declared.js";

/** The maximum size of a request, and so of any string in it. */
const REQUEST_BYTES_MAX = 3 * 1024 * 1024;
/** The minimum bytes of an element in JSON with its comma, and of an entry with its quotes. */
const ELEMENT_BYTES_MIN = 2;
const ENTRY_BYTES_MIN = 6;

/** Upper bounds by path: "claims.groups", "claims.groups[]" for each element or map value. */
export type SizeLimits = Readonly<Record<string, number>>;

export function rootsOf(variables: ReadonlyMap<string, Type>, limits: SizeLimits): DeclaredRoots {
  const declare = (type: Type, path: string): Declared => {
    const element = partOf(type);
    return {
      max: limits[path] ?? sizeOfType(type),
      field: (name) => {
        const field = fieldOf(type, name);
        return field === undefined ? undefined : declare(field, `${path}.${name}`);
      },
      get key() {
        return type.kind === "map" || type.kind === "dyn"
          ? declare(STRING, `${path}{}`)
          : undefined;
      },
      get element() {
        return element === undefined ? undefined : declare(element, `${path}[]`);
      },
    };
  };
  return (variable) => {
    const type = variables.get(variable);
    return type === undefined ? undefined : declare(type, variable);
  };
}

function partOf(type: Type): Type | undefined {
  switch (type.kind) {
    case "list":
      return type.element;
    case "map":
      return type.value;
    case "optional":
      return partOf(type.value);
    case "dyn":
      return DYN;
    default:
      return undefined;
  }
}

/** A key with its own bound appears by name in the path. */
function fieldOf(type: Type, name: string): Type | undefined {
  switch (type.kind) {
    case "map":
      return type.value;
    case "optional":
      return fieldOf(type.value, name);
    case "named":
      return type.fields?.get(name);
    case "dyn":
      return DYN;
    default:
      return undefined;
  }
}

function sizeOfType(type: Type): number {
  switch (type.kind) {
    case "dyn":
      return REQUEST_BYTES_MAX;
    case "list":
      return REQUEST_BYTES_MAX / ELEMENT_BYTES_MIN;
    case "map":
      return REQUEST_BYTES_MAX / ENTRY_BYTES_MIN;
    case "named":
      return type.fields?.size ?? 1;
    case "optional":
      return sizeOfType(type.value);
    case "simple":
      return type.name === "string" || type.name === "bytes" ? REQUEST_BYTES_MAX : 1;
    default:
      return 1;
  }
}
