/**
 * RequestInfo: a request's method and URL in the API's terms. It is a pure function of the two,
 * shared by authorization, metrics, flow control, audit and the endpoints, so that they cannot
 * disagree about a request. The rules are those of kube-apiserver's RequestInfoFactory.
 *
 *   /api/v1/namespaces/default/pods/web/log     core group, subresource log
 *   /apis/apps/v1/deployments?watch=1           verb watch over all namespaces
 *   /apis/apps/v1/watch/deployments             the same in the legacy form
 *   /livez                                      not a resource: verb "get", path "/livez"
 *
 * The path is decoded once, as a whole, before it is split: nothing else parses the URL.
 */
import { booleanParameter, decodePercent, parseQuery, type Query } from "./query.js";

export interface RequestInfo {
  readonly isResourceRequest: boolean;
  /**
   * For a resource: get, list, watch, create, update, patch, delete, deletecollection, proxy, or ""
   * for an unsupported method. For other paths: the method in lower case.
   */
  readonly verb: string;
  /** The HTTP method as sent. */
  readonly method: string;
  /** The decoded path without the query. */
  readonly path: string;
  readonly query: Query;
  /** "api", "apis" or "". */
  readonly apiPrefix: string;
  readonly group: string;
  readonly version: string;
  /** "" for cluster scope and for all namespaces. */
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /**
   * Number of path segments from the resource on: 1 collection, 2 object, 3 subresource; more are a
   * path below a subresource (proxy) or an unknown path.
   */
  readonly depth: number;
  /** The segments below the subresource, with a leading slash; "" when there are none. */
  readonly subpath: string;
  /** Whether the verb came from a legacy `/watch/` or `/proxy/` path. */
  readonly isLegacyPath: boolean;
}

const VERB_OF_METHOD: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Path segments after a namespace's name that are not resources. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(["status", "finalize"]);

const LONG_RUNNING_SUBRESOURCES: ReadonlySet<string> = new Set([
  "attach",
  "exec",
  "log",
  "portforward",
  "proxy",
]);

const METADATA_NAME_TERM = /^metadata\.name==?([^=!,]+)$/;

/** Reads method and URL. @param url as of `originForm` @throws {StatusError} 400 for malformed percent-encoding */
export function parseRequestInfo(method: string, url: string): RequestInfo {
  const queryStart = url.indexOf("?");
  const rawPath = queryStart === -1 ? url : url.slice(0, queryStart);
  const query = parseQuery(queryStart === -1 ? "" : url.slice(queryStart + 1));
  const path = decodePercent(rawPath);
  const parts = splitPath(path);
  const [apiPrefix = ""] = parts;
  const isCore = apiPrefix === "api";
  const isResource = (isCore && parts.length >= 3) || (apiPrefix === "apis" && parts.length >= 4);
  return isResource
    ? resourceRequest(method, path, query, parts, isCore)
    : nonResourceRequest(method, path, query);
}

/** Whether the request is long-running: such requests have no deadline and no in-flight seat. */
export function isLongRunning(info: RequestInfo): boolean {
  return (
    info.verb === "watch" ||
    info.verb === "proxy" ||
    LONG_RUNNING_SUBRESOURCES.has(info.subresource)
  );
}

const READ_ONLY_VERBS: ReadonlySet<string> = new Set(["get", "list", "watch", "head", "options"]);

/** Whether the request changes nothing; in-flight limits count the two kinds separately. */
export function isReadOnly(info: RequestInfo): boolean {
  return READ_ONLY_VERBS.has(info.verb);
}

function nonResourceRequest(method: string, path: string, query: Query): RequestInfo {
  return {
    isResourceRequest: false,
    verb: method.toLowerCase(),
    method,
    path,
    query,
    apiPrefix: "",
    group: "",
    version: "",
    namespace: "",
    resource: "",
    subresource: "",
    name: "",
    depth: 0,
    subpath: "",
    isLegacyPath: false,
  };
}

function resourceRequest(
  method: string,
  path: string,
  query: Query,
  parts: readonly string[],
  isCore: boolean,
): RequestInfo {
  const group = isCore ? "" : (parts[1] as string);
  const version = (isCore ? parts[1] : parts[2]) as string;
  let at = isCore ? 2 : 3;

  let verb = VERB_OF_METHOD[method] ?? "";
  const special = parts[at];
  // "/api/v1/watch" alone names a resource called watch, which does not exist.
  const isLegacyPath = (special === "watch" || special === "proxy") && parts.length > at + 1;
  if (isLegacyPath) {
    verb = special as string;
    at++;
  }

  let namespace = "";
  if (parts[at] === "namespaces" && parts.length > at + 1) {
    namespace = parts[at + 1] as string;
    const next = parts[at + 2];
    if (next !== undefined && !NAMESPACE_SUBRESOURCES.has(next)) at += 2;
  }

  const depth = parts.length - at;
  let name = parts[at + 1] ?? "";
  // A proxied path has no subresource: the rest after the name belongs to the backend.
  const subresource = verb === "proxy" ? "" : (parts[at + 2] ?? "");
  if (name === "") {
    if (verb === "get") verb = booleanParameter(query, "watch") ? "watch" : "list";
    else if (verb === "delete") verb = "deletecollection";
    if (verb === "list" || verb === "watch") name = nameOfFieldSelector(query);
  }
  return {
    isResourceRequest: true,
    verb,
    method,
    path,
    query,
    apiPrefix: isCore ? "api" : "apis",
    group,
    version,
    namespace,
    resource: parts[at] as string,
    subresource,
    name,
    depth,
    subpath: depth > 3 ? `/${parts.slice(at + 3).join("/")}` : "",
    isLegacyPath,
  };
}

/**
 * The name that a field selector requires, so that a Role on one name allows its list and watch.
 */
function nameOfFieldSelector(query: Query): string {
  if (query.isEmpty) return "";
  const selector = query.get("fieldSelector");
  if (selector === undefined) return "";
  for (const term of selector.split(",")) {
    const name = METADATA_NAME_TERM.exec(term.trim())?.[1];
    if (name !== undefined && isPathSegment(name)) return name;
  }
  return "";
}

function isPathSegment(name: string): boolean {
  return name !== "." && name !== ".." && !/[/%\\]/.test(name);
}

/** "/a/b/" to its parts; leading and trailing slashes do not count, inner empty parts do. */
function splitPath(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === 0x2f) start++;
  while (end > start && path.charCodeAt(end - 1) === 0x2f) end--;
  const parts: string[] = [];
  if (start === end) return parts;
  // With every request: String.split leaves V8's compiled code, which costs half as much again.
  for (let at = path.indexOf("/", start); at !== -1 && at < end; at = path.indexOf("/", start)) {
    parts.push(path.slice(start, at));
    start = at + 1;
  }
  parts.push(path.slice(start, end));
  return parts;
}

/** What a request is told whose target `originForm` does not know. */
export const NO_TARGET = "the target of the request is no path and no URL";

/**
 * "https://host/path?a" (absolute form, RFC 9112 section 3.2.2) to "/path?a"; a path, and the "*" of OPTIONS, as they
 * are. undefined = neither.
 */
export function originForm(target: string): string | undefined {
  if (target.startsWith("/") || target === "*") return target;
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i.exec(target);
  if (origin === null || !URL.canParse(target)) return undefined;
  const rest = target.slice(origin[0].length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}
