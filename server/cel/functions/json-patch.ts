/** The JSON patch extension: `jsonpatch.escapeKey('a/b')` escapes a key for a JSON pointer (RFC 6901). */
import { fn, type Overload, traversal } from "../overloads.js";

const escapeKey = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

export const JSON_PATCH: readonly Overload[] = [
  fn("jsonpatch.escapeKey", "string", "string", escapeKey, {
    cost: traversal,
    resultSize: ([size = 1]) => 2 * size,
  }),
];
