/**
 * Reads absolute URLs and paths as Go's `url.ParseRequestURI` and `url.Parse` do, of which the first judges what
 * kube-apiserver takes for a URL: a scheme without slashes has an opaque rest, and a host may have characters that
 * browsers refuse. Texts are bytes in here: each character stands for one. Pure.
 */
import { isIPv6 } from "node:net";
import { goQuote } from "../../api/go-text.js";

export interface RequestUri {
  readonly scheme: string;
  /** With its port, if it has one. */
  readonly host: string;
  readonly escapedPath: string;
  readonly rawQuery: string;
}

type Found = RequestUri | { readonly problem: string };
/** A part without its escapes, or what is wrong with it. */
type Unescaped = { readonly text: string } | { readonly problem: string };

const UNRESERVED = "A-Za-z0-9\\-._~";
const BEYOND_ASCII = /[\u0080-\u00ff]+/g;
const CONTROL = /\p{Cc}/u;
const SCHEME = /^([A-Za-z][A-Za-z0-9+\-.]*):/;
const USER = new RegExp(`^[${UNRESERVED}:!$&'()*+,;=%@]*$`);
const PORT = /^(?::\d*)?$/;
/** What a host has as it is, beside bytes beyond ASCII. */
const OF_HOSTS = new RegExp(`[^${UNRESERVED}!$&'()*+,;=:[\\]<>"%\\x80-\\xff]`);
/** What is not escaped in a path that was escaped by others. */
const KEPT_PATH = new RegExp(`^[${UNRESERVED}!$&'()*+,;=:@[\\]/%]*$`);
const ESCAPED_IN_PATH = new RegExp(`[^${UNRESERVED}$&+,/:;=@]`, "g");
const ESCAPE = /%([0-9A-Fa-f]{2})?/g;

/** Whether it is one. @returns what is wrong, in kube-apiserver's words */
export function requestUriProblem(text: string): string | undefined {
  const found = parse(bytesOf(text), true);
  return "problem" in found ? shown(text, found.problem) : undefined;
}

/** @returns the parts, now without a fragment and with a host after two slashes; or what is wrong */
export function readRequestUri(text: string): Found {
  const problem = requestUriProblem(text);
  if (problem !== undefined) return { problem };
  const raw = bytesOf(text);
  const mark = raw.indexOf("#");
  const found = parse(mark < 0 ? raw : raw.slice(0, mark), false);
  const fragment = unescaped(mark < 0 ? "" : raw.slice(mark + 1));
  if ("problem" in found) return { problem: shown(text, found.problem) };
  if ("problem" in fragment) return { problem: shown(text, fragment.problem) };
  return { ...found, host: asText(found.host), scheme: asText(found.scheme) };
}

function shown(text: string, problem: string): string {
  return `parse ${goQuote(text)}: ${asText(problem)}`;
}

function bytesOf(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** The values of each name, without escapes; pairs that are malformed are left out. */
export function queryValues(
  rawQuery: string,
  onParameter: () => void,
): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const pair of rawQuery.split("&")) {
    onParameter();
    if (pair === "" || pair.includes(";")) continue;
    const equals = pair.indexOf("=");
    const name = queryText(equals < 0 ? pair : pair.slice(0, equals));
    const value = queryText(equals < 0 ? "" : pair.slice(equals + 1));
    if (name === undefined || value === undefined) continue;
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return values;
}

function parse(raw: string, isRequest: boolean): Found {
  if (CONTROL.test(raw.replace(BEYOND_ASCII, "")))
    return { problem: "net/url: invalid control character in URL" };
  if (raw === "" && isRequest) return { problem: "empty url" };
  const empty = { scheme: "", host: "", escapedPath: "", rawQuery: "" };
  if (raw === "*") return { ...empty, escapedPath: "*" };
  if (raw.startsWith(":")) return { problem: "missing protocol scheme" };
  const scheme = SCHEME.exec(raw)?.[1] ?? "";
  const afterScheme = scheme === "" ? raw : raw.slice(scheme.length + 1);
  const mark = afterScheme.indexOf("?");
  const rest = mark < 0 ? afterScheme : afterScheme.slice(0, mark);
  const rawQuery = mark < 0 ? "" : afterScheme.slice(mark + 1);
  const uri = { ...empty, scheme: scheme.toLowerCase(), rawQuery };
  if (!rest.startsWith("/")) {
    if (scheme !== "") return uri;
    return isRequest ? { problem: "invalid URI for request" } : withPath(uri, rest);
  }
  const hasHost = scheme === "" ? !isRequest && /^\/\/(?!\/)/.test(rest) : rest.startsWith("//");
  if (!hasHost) return withPath(uri, rest);
  const end = rest.indexOf("/", 2);
  const host = hostOf(end < 0 ? rest.slice(2) : rest.slice(2, end));
  if ("problem" in host) return host;
  return withPath({ ...uri, host: host.text }, end < 0 ? "" : rest.slice(end));
}

function withPath(uri: RequestUri, raw: string): Found {
  const path = unescaped(raw);
  if ("problem" in path) return path;
  const isKept = KEPT_PATH.test(raw);
  return { ...uri, escapedPath: isKept ? raw : path.text.replace(ESCAPED_IN_PATH, withPercent) };
}

function withPercent(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** Of an authority, which may name a user too. */
function hostOf(authority: string): Unescaped {
  const at = authority.lastIndexOf("@");
  const host = readHost(authority.slice(at + 1));
  if ("problem" in host || at < 0) return host;
  const user = authority.slice(0, at);
  if (!USER.test(user)) return { problem: "net/url: invalid userinfo" };
  const found = unescaped(user);
  return "problem" in found ? found : host;
}

function readHost(host: string): Unescaped {
  const open = host.lastIndexOf("[");
  if (open > 0) return { problem: "invalid IP-literal" };
  if (open === 0) return readBracketed(host);
  const colon = host.lastIndexOf(":");
  const port = colon < 0 ? "" : host.slice(colon);
  return PORT.test(port) ? unescapedHost(host) : ofPort(port);
}

function ofPort(port: string): Unescaped {
  return { problem: `invalid port ${goQuote(port)} after host` };
}

/** An address of version 6 in brackets; its zone may escape anything. */
function readBracketed(host: string): Unescaped {
  const close = host.lastIndexOf("]");
  if (close < 0) return { problem: "missing ']' in host" };
  const port = host.slice(close + 1);
  if (!PORT.test(port)) return ofPort(port);
  const name = host.slice(1, close);
  const zoneAt = name.indexOf("%25");
  const address = unescapedHost(zoneAt < 0 ? name : name.slice(0, zoneAt));
  if ("problem" in address) return address;
  const zone = zoneAt < 0 ? { text: "" } : unescaped(name.slice(zoneAt));
  if ("problem" in zone) return zone;
  if (!isIPv6(address.text) || zone.text === "%") {
    return {
      problem: `invalid host: ParseAddr(${goQuote(address.text + zone.text)}): unable to parse IP`,
    };
  }
  return { text: `[${address.text}${zone.text}]${port}` };
}

/** In hosts only bytes beyond ASCII may be escaped. */
function unescapedHost(host: string): Unescaped {
  const odd = OF_HOSTS.exec(host)?.[0];
  const found = unescaped(host, (sequence) => sequence === "%25" || sequence >= "%8");
  if ("problem" in found || odd === undefined) return found;
  return { problem: `invalid character ${goQuote(odd)} in host name` };
}

function unescaped(text: string, allows: (sequence: string) => boolean = () => true): Unescaped {
  let wrong: string | undefined;
  const plain = text.replace(ESCAPE, (sequence, digits: string | undefined, at: number) => {
    if (digits === undefined || !allows(sequence)) wrong ??= text.slice(at, at + 3);
    return String.fromCharCode(Number.parseInt(digits ?? "0", 16));
  });
  return wrong === undefined
    ? { text: plain }
    : { problem: `invalid URL escape ${goQuote(wrong)}` };
}

function queryText(text: string): string | undefined {
  const found = unescaped(text.replaceAll("+", " "));
  return "problem" in found ? undefined : asText(found.text);
}

function asText(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}
