/**
 * The manager of a request (S1-SSA-17), and the fields that a write does not affect because of the
 * subresource that it goes to.
 */
import { EMPTY, type FieldSet, setOfPaths } from "./field-set.js";
import { fieldElement } from "./path-element.js";

/** Maximum bytes of a manager's name (S1-SSA-06). */
export const MANAGER_NAME_BYTES_MAX = 128;

const PLAIN_NAME = /^[ -.0-~]{0,128}$/;
const NOT_PRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/**
 * The manager of a write: the given one, else the user agent up to its first slash, without
 * unprintable characters and truncated to the maximum length. "" = unspecified.
 */
export function managerNameOf(fieldManager: string, userAgent: string): string {
  if (fieldManager !== "") return fieldManager;
  const [product = ""] = userAgent.split("/", 1);
  if (PLAIN_NAME.test(product)) return product;
  let name = "";
  let bytes = 0;
  for (const character of product) {
    if (NOT_PRINTABLE.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > MANAGER_NAME_BYTES_MAX) break;
    name += character;
  }
  return name;
}

/**
 * The fields that writes to the object itself ("") and to its subresources do not affect.
 * @param table dotted paths by subresource
 */
export function resetFieldsOf(
  table: Readonly<Record<string, readonly string[]>>,
): (subresource: string) => FieldSet {
  const sets = new Map(
    Object.entries(table).map(([subresource, fields]) => [
      subresource,
      setOfPaths(fields.map((field) => field.split(".").map(fieldElement))),
    ]),
  );
  return (subresource) => sets.get(subresource) ?? EMPTY;
}
