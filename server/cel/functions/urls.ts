/** The url extension: `url(text)` for absolute URLs and paths, and their parts. */
import { isIPv6 } from "node:net";
import { FLAT, TRAVERSED } from "../cost/call-costs.js";
import { TRAVERSAL_FACTOR } from "../costs.js";
import { Failure } from "../errors.js";
import { type CallContext, fn, method, type Overload } from "../overloads.js";
import { EntryMap, ListValue, OpaqueValue } from "../values.js";

interface UrlParts {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class UrlValue extends OpaqueValue {
  override readonly typeName = "kubernetes.URL";
  readonly text: string;
  readonly parts: UrlParts;

  constructor(text: string, parts: UrlParts) {
    super();
    this.text = text;
    this.parts = parts;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }

  override toJson(): string {
    return this.text;
  }
}

const URL_TEXT = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(?:([^/?#@]*)@)?([^/?#]*)([^?]*)(?:\?(.*))?$/s;
const PATH_TEXT = /^(\/[^?]*)(?:\?(.*))?$/s;
/** URLs contain no control characters or spaces; a percent sign starts an escape. */
const FORBIDDEN = /[\p{Cc} ]|%(?![0-9A-Fa-f]{2})/u;
const HOST = /^(?:\[[0-9A-Fa-f:.%]+\]|[^[\]:<>"{}|\\^`\s]*)(?::\d*)?$/;

function parseUrl(text: string): UrlValue | undefined {
  const path = PATH_TEXT.exec(text);
  if (path !== null) {
    const [, found = "", query = ""] = path;
    if (FORBIDDEN.test(found)) return undefined;
    return new UrlValue(text, { scheme: "", host: "", path: found, query });
  }
  const match = URL_TEXT.exec(text);
  if (match === null) return undefined;
  const [, scheme = "", , host = "", found = "", query = ""] = match;
  if (FORBIDDEN.test(found) || !HOST.test(host)) return undefined;
  const bracketed = /^\[([^\]%]*)(?:%[^\]]*)?\]/.exec(host);
  if (bracketed !== null && !isIPv6(bracketed[1] ?? "")) return undefined;
  return new UrlValue(text, { scheme: scheme.toLowerCase(), host, path: found, query });
}

/** Whether `url(text)` accepts it. */
export function isUrl(text: string): boolean {
  return parseUrl(text) !== undefined;
}

function hostname({ parts }: UrlValue): string {
  return parts.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
}

function queryOf({ parts }: UrlValue, { charge }: CallContext): EntryMap {
  charge(parts.query.length * TRAVERSAL_FACTOR);
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(parts.query)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  const map = new EntryMap();
  for (const [name, list] of values) map.add(name, new ListValue(list));
  return map;
}

export const URLS: readonly Overload[] = [
  fn(
    "url",
    "string",
    "kubernetes.URL",
    (text: string) => {
      const url = parseUrl(text);
      if (url === undefined) throw new Failure("URL parse error during conversion from string");
      return url;
    },
    TRAVERSED,
  ),
  fn(
    "isURL",
    "string",
    "bool",
    (text: string, { charge }: CallContext) => {
      charge(text.length * TRAVERSAL_FACTOR);
      return isUrl(text);
    },
    FLAT,
  ),
  method("getScheme", "kubernetes.URL", "string", ({ parts }: UrlValue) => parts.scheme, FLAT),
  method("getHost", "kubernetes.URL", "string", ({ parts }: UrlValue) => parts.host, FLAT),
  method("getHostname", "kubernetes.URL", "string", hostname, FLAT),
  method(
    "getPort",
    "kubernetes.URL",
    "string",
    ({ parts }: UrlValue) => /:(\d*)$/.exec(parts.host)?.[1] ?? "",
    FLAT,
  ),
  method(
    "getEscapedPath",
    "kubernetes.URL",
    "string",
    ({ parts }: UrlValue) => escapedPath(parts.path),
    FLAT,
  ),
  method("getQuery", "kubernetes.URL", "map<string, list<string>>", queryOf, FLAT),
];

/** Escapes characters that are invalid in a path; existing escapes stay. */
function escapedPath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%[\]]+/gu, (found) =>
    encodeURIComponent(found),
  );
}
