/** The url extension: `url(text)` for absolute URLs and paths, and their parts. */
import { FLAT, TRAVERSED } from "../cost/call-costs.js";
import { TRAVERSAL_FACTOR } from "../costs.js";
import { Failure } from "../errors.js";
import { type CallContext, fn, method, type Overload } from "../overloads.js";
import { EntryMap, ListValue, OpaqueValue } from "../values.js";
import { queryValues, type RequestUri, readRequestUri, requestUriProblem } from "./request-uri.js";

/** Of one parameter; a URL may have a million. */
const PARAMETER_WORK = 1_000;

class UrlValue extends OpaqueValue {
  override readonly typeName = "kubernetes.URL";
  readonly text: string;
  readonly uri: RequestUri;
  #query: EntryMap | undefined;

  constructor(text: string, uri: RequestUri) {
    super();
    this.text = text;
    this.uri = uri;
  }

  /** Taken apart once. */
  query(charge: (work: number) => void): EntryMap {
    if (this.#query !== undefined) return this.#query;
    const { rawQuery } = this.uri;
    const map = new EntryMap();
    charge(rawQuery.length * TRAVERSAL_FACTOR);
    for (const [name, list] of queryValues(rawQuery, () => charge(PARAMETER_WORK))) {
      map.add(name, new ListValue(list));
    }
    this.#query = map;
    return map;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }

  override toJson(): string {
    return this.text;
  }
}

function url(text: string): UrlValue {
  const found = readRequestUri(text);
  if ("problem" in found) {
    throw new Failure(`URL parse error during conversion from string: ${found.problem}`);
  }
  return new UrlValue(text, found);
}

const PORT = /:(\d*)$/;

function hostname({ uri }: UrlValue): string {
  return uri.host.replace(PORT, "").replace(/^\[(.*)\]$/s, "$1");
}

export const URLS: readonly Overload[] = [
  fn("url", "string", "kubernetes.URL", url, TRAVERSED),
  fn(
    "isURL",
    "string",
    "bool",
    (text: string, { charge }: CallContext) => {
      charge(text.length * TRAVERSAL_FACTOR);
      return requestUriProblem(text) === undefined;
    },
    FLAT,
  ),
  method("getScheme", "kubernetes.URL", "string", ({ uri }: UrlValue) => uri.scheme, FLAT),
  method("getHost", "kubernetes.URL", "string", ({ uri }: UrlValue) => uri.host, FLAT),
  method("getHostname", "kubernetes.URL", "string", hostname, FLAT),
  method(
    "getPort",
    "kubernetes.URL",
    "string",
    ({ uri }: UrlValue) => PORT.exec(uri.host)?.[1] ?? "",
    FLAT,
  ),
  method(
    "getEscapedPath",
    "kubernetes.URL",
    "string",
    ({ uri }: UrlValue) => uri.escapedPath,
    FLAT,
  ),
  method(
    "getQuery",
    "kubernetes.URL",
    "map<string, list<string>>",
    (value: UrlValue, { charge }: CallContext) => value.query(charge),
    FLAT,
  ),
];
