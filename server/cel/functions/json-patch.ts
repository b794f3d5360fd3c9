/** The JSON patch extension: `jsonpatch.escapeKey('a/b')` escapes a key for a JSON pointer (RFC 6901). */
import { TRAVERSED } from "../cost/call-costs.js";
import { fn, type Overload } from "../overloads.js";

const escapeKey = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

export const JSON_PATCH: readonly Overload[] = [
  fn("jsonpatch.escapeKey", "string", "string", escapeKey, TRAVERSED),
];
