/**
 * The headers of a proxied request and of its answer. Hop-by-hop headers are removed (RFC 9110 section
 * 7.6.1), and so are all of the client's identity headers. Servers that authenticate by front proxy get
 * the user in these headers.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { UserInfo } from "../request/user-info.js";

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const PROTOCOLS = "sec-websocket-protocol";
const BEARER_PROTOCOL = /^base64url\.bearer\.authorization\./;

export interface ForwardedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly auditId: string;
  readonly remoteAddress: string;
}

/** Name and value pairs in undici's form: name, value, name, value, ... */
export function forwardedHeaders(request: ForwardedRequest): string[] {
  const { headers, auditId, remoteAddress } = request;
  const dropped = connectionHeaders(headers.connection);
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || isOurs(name) || dropped.has(name)) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      pairs.push(name, name === PROTOCOLS ? withoutTokens(one) : one);
    }
  }
  const before = headers["x-forwarded-for"];
  pairs.push("X-Forwarded-For", [before, remoteAddress].flat().filter(Boolean).join(", "));
  pairs.push("Audit-Id", auditId);
  return pairs;
}

/** The user's identity, for servers that trust us. */
export function userHeaders(user: UserInfo): string[] {
  const pairs: string[] = [];
  pairs.push("X-Remote-User", encodeValue(user.name));
  if (user.uid !== "") pairs.push("X-Remote-Uid", encodeValue(user.uid));
  for (const group of user.groups) pairs.push("X-Remote-Group", encodeValue(group));
  for (const [key, values] of Object.entries(user.extra)) {
    const name = `X-Remote-Extra-${encodeKey(key)}`;
    for (const value of values) pairs.push(name, encodeValue(value));
  }
  return pairs;
}

/**
 * Of an answer: name, value, name, value, ... without hop-by-hop headers, and without those of CORS: this
 * server says which web pages may read its API, not the servers behind it.
 */
export function answerHeaders(raw: readonly (Buffer | string)[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    // Node represents header bytes as one character each.
    pairs.push([textOf(raw[i] ?? ""), textOf(raw[i + 1] ?? "")]);
  }
  const connection = pairs.find(([name]) => name.toLowerCase() === "connection")?.[1];
  const dropped = connectionHeaders(connection);
  return pairs.filter(([name]) => {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || dropped.has(lower)) return false;
    return lower !== "audit-id" && !lower.startsWith("access-control-");
  });
}

/** A browser's token is for this server only. */
function withoutTokens(protocols: string): string {
  return protocols
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => !BEARER_PROTOCOL.test(protocol))
    .join(", ");
}

/** Whether only this server may set the header. */
function isOurs(name: string): boolean {
  return (
    name.startsWith(":") ||
    HOP_BY_HOP.has(name) ||
    name === "host" ||
    name === "authorization" ||
    name === "audit-id" ||
    name === "expect" ||
    name === "content-length" ||
    name === "http2-settings" ||
    name.startsWith("x-remote-") ||
    name.startsWith("x-forwarded-") ||
    name.startsWith("impersonate-")
  );
}

/** Names in a Connection header are hop-by-hop as well. */
function connectionHeaders(value: string | undefined): ReadonlySet<string> {
  if (value === undefined) return new Set();
  return new Set(value.split(",").map((name) => name.trim().toLowerCase()));
}

function textOf(value: Buffer | string): string {
  return typeof value === "string" ? value : value.toString("latin1");
}

/** UTF-8, one character per byte; invalid header bytes are removed. */
function encodeValue(value: string): string {
  return Buffer.from(
    Buffer.from(value, "utf8").filter((byte) => byte >= 0x20 && byte !== 0x7f),
  ).toString("latin1");
}

/** A key may have any characters, a header name may not: percent-encoded, as front proxies do. */
function encodeKey(key: string): string {
  return [...Buffer.from(key, "utf8")]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[a-zA-Z0-9!#$&'*+.^_`|~-]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}
