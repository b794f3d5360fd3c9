/**
 * Documents: answers with the same bytes for all clients until the set of served types changes. A
 * document is built on first use and cached as bytes with its ETag and its gzip form; `respond` turns it
 * into a status, headers and a body. Independent of any HTTP library.
 */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { indentJson } from "../representations/indent-json.js";

/** Below one packet compression saves nothing and costs both sides. */
const GZIP_BYTES_MIN = 1400;

/** The request headers that matter for a document, as Node gives them. */
export interface DocumentHeaders {
  readonly accept?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly acceptEncoding?: string | undefined;
  /** Whether JSON is indented, and then not compressed, since such requests are rare. */
  readonly isForPeople?: boolean;
}

/** Picks the relevant headers of a Node request. */
export function documentHeaders(
  headers: IncomingHttpHeaders,
  isForPeople = false,
): DocumentHeaders {
  return {
    accept: headers.accept,
    ifNoneMatch: headers["if-none-match"],
    acceptEncoding: headers["accept-encoding"]?.toString(),
    isForPeople,
  };
}

export interface DocumentResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for 304 and for redirects. */
  readonly body: Buffer;
}

/** One finished document in one encoding. Shared by all requests; its buffers are never changed. */
export interface Document {
  readonly contentType: string;
  /** Quoted, ready for the header. */
  readonly etag: string;
  readonly body: Buffer;
  /** undefined if the document is too small to compress. */
  readonly gzipBody: Buffer | undefined;
}

/** Strong hash of the bytes in upper-case hex, in the format of kube-apiserver's ETags. */
function hashDocument(body: Uint8Array): string {
  return createHash("sha512").update(body).digest("hex").toUpperCase();
}

/**
 * Compresses off the event loop and builds the document.
 * @param hash unquoted; set when the ETag of another encoding of the document applies
 */
export async function finishDocument(
  contentType: string,
  body: Buffer,
  hash = hashDocument(body),
): Promise<Document> {
  const gzipBody = body.length < GZIP_BYTES_MIN ? undefined : await promisify(gzip)(body);
  return { contentType, etag: `"${hash}"`, body, gzipBody };
}

/** 200 with the document, or 304 if the client has it already. `extra` overrides headers. */
export function respond(
  document: Document,
  headers: DocumentHeaders,
  extra: Readonly<Record<string, string>> = {},
): DocumentResponse {
  const common = {
    ETag: document.etag,
    Vary: "Accept, Accept-Encoding",
    "Cache-Control": "no-cache, private",
    ...extra,
  };
  if (etagMatches(headers.ifNoneMatch, document.etag)) {
    return { status: 304, headers: common, body: Buffer.alloc(0) };
  }
  const { contentType, body, gzipBody } = document;
  const found = { ...common, "Content-Type": contentType };
  if (headers.isForPeople === true && contentType.startsWith("application/json")) {
    return withBody(found, Buffer.from(indentJson(body.toString())));
  }
  if (gzipBody === undefined || !acceptsGzip(headers.acceptEncoding)) return withBody(found, body);
  return withBody({ ...found, "Content-Encoding": "gzip" }, gzipBody);
}

function withBody(headers: Readonly<Record<string, string>>, body: Buffer): DocumentResponse {
  return { status: 200, headers: { ...headers, "Content-Length": String(body.length) }, body };
}

/** 301 to another address of the same document. */
export function redirect(location: string): DocumentResponse {
  return { status: 301, headers: { Location: location }, body: Buffer.alloc(0) };
}

/** Weak comparison (RFC 9110 §13.1.2): a proxy that recoded the body may have added `W/`. */
function etagMatches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .some((tag) => tag === "*" || tag === etag);
}

/** Whether the client accepts gzip: named (or `*`) with a non-zero weight. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  let wildcard = false;
  for (const part of acceptEncoding.split(",")) {
    const [coding, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    if (coding === "gzip") return !isRefused;
    if (coding === "*") wildcard = !isRefused;
  }
  return wildcard;
}
