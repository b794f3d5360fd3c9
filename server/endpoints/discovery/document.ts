/**
 * Documents: answers with the same bytes for all clients until the set of served types changes. A
 * document is built on first use and cached as bytes with its ETag and its gzip form; `respond` turns it
 * into a status, headers and a body. Independent of any HTTP library.
 *
 * Those of OpenAPI are large, 80 MB with a definition of 5,000 versions, and compress to a twentieth: they come in pieces,
 * of which only the gzip form is kept.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { createGunzip, createGzip } from "node:zlib";
import { JSON_TYPE } from "../../codec/media-types.js";
import { indentedPieces, indentJson } from "../representations/indent-json.js";

/** Below one packet compression saves nothing and costs both sides. */
const GZIP_BYTES_MIN = 1400;
/** Larger documents are kept compressed only: few clients want another form, and each version of a kind has one of 60 KB. */
const PLAIN_BYTES_MAX = 16 * 1024;
/** Of one piece of a large document on its way to a client. */
const SENT_BYTES = 256 * 1024;

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
  /** Empty for 304 and for redirects; in pieces where it is large. */
  readonly body: Buffer | AsyncIterable<Buffer>;
}

/** One finished document in one encoding. Shared by all requests; its buffers are never changed. */
export interface Document {
  readonly contentType: string;
  /** Quoted, ready for the header. */
  readonly etag: string;
  /** Bytes of the plain form. */
  readonly length: number;
  /** undefined = the document is large, and unpacked for who wants it so. */
  readonly plain: Buffer | undefined;
  /** undefined if the document is too small to compress. */
  readonly gzipped: Buffer | undefined;
}

export interface DocumentOptions {
  /**
   * Unquoted; set when the ETag of another encoding of the document applies. Default: a strong hash of the bytes in
   * upper-case hex, in the format of kube-apiserver's ETags.
   */
  readonly hash?: string;
  /** Larger ones are kept compressed only. Default: PLAIN_BYTES_MAX. */
  readonly plainBytesMax?: number;
}

/**
 * Compresses off the event loop and builds the document.
 * @param pieces of the body, made in turns of their own
 */
export async function finishDocument(
  contentType: string,
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  { hash, plainBytesMax = PLAIN_BYTES_MAX }: DocumentOptions = {},
): Promise<Document> {
  const hashing = createHash("sha512");
  const gzip = createGzip();
  const packed: Buffer[] = [];
  gzip.on("data", (bytes: Buffer) => packed.push(bytes));
  let plain: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of pieces) {
      length += piece.length;
      if (hash === undefined) hashing.update(piece);
      if (length > plainBytesMax) plain = [];
      else plain.push(piece);
      if (!gzip.write(piece)) await once(gzip, "drain");
    }
    gzip.end();
    await once(gzip, "end");
  } finally {
    gzip.destroy();
  }
  const etag = `"${hash ?? hashing.digest("hex").toUpperCase()}"`;
  return {
    contentType,
    etag,
    length,
    plain: length > plainBytesMax ? undefined : Buffer.concat(plain),
    gzipped: length < GZIP_BYTES_MIN ? undefined : Buffer.concat(packed),
  };
}

/** What the bytes are unpacked, in pieces. */
async function* unpacked(gzipped: Buffer): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip({ chunkSize: SENT_BYTES });
  gunzip.end(gzipped);
  yield* gunzip;
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += SENT_BYTES) yield bytes.subarray(at, at + SENT_BYTES);
}

async function* indentedInPieces(json: Buffer): AsyncGenerator<Buffer, void> {
  for (const piece of indentedPieces(json.toString())) yield Buffer.from(piece);
}

/** The whole of a body, for tests. */
export async function gatherBody(body: DocumentResponse["body"]): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body;
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
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
  const { contentType, length, plain, gzipped } = document;
  const found = { ...common, "Content-Type": contentType };
  if (plain !== undefined && headers.isForPeople === true && contentType.startsWith(JSON_TYPE)) {
    if (plain.length > SENT_BYTES) return withBody(found, indentedInPieces(plain), undefined);
    const indented = Buffer.from(indentJson(plain.toString()));
    return withBody(found, indented, indented.length);
  }
  if (gzipped !== undefined && acceptsGzip(headers.acceptEncoding)) {
    const body = gzipped.length > SENT_BYTES ? inPieces(gzipped) : gzipped;
    return withBody({ ...found, "Content-Encoding": "gzip" }, body, gzipped.length);
  }
  return withBody(found, plain ?? unpacked(gzipped as Buffer), length);
}

function withBody(
  headers: Readonly<Record<string, string>>,
  body: DocumentResponse["body"],
  length: number | undefined,
): DocumentResponse {
  const ofLength = length === undefined ? {} : { "Content-Length": String(length) };
  return { status: 200, headers: { ...headers, ...ofLength }, body };
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
