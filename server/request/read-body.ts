/**
 * readBody: the whole body of a request as one buffer, bounded in size and time. Handlers call it
 * once, after authorization, so that unauthorized users cannot make the server hold bytes.
 */
import { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { badRequest, requestEntityTooLarge, StatusError } from "../api/status.js";
import type { Http2Request } from "./http2-request.js";
import type { LazySignal } from "./lazy-signal.js";

/** Three mebibytes, the limit that clients know (S1-ERR-10). */
export const BODY_BYTES_MAX = 3 * 1024 * 1024;

export interface ReadBodyOptions {
  readonly bytesMax?: number;
  /** Ends a long wait; its reason is thrown (a 504 at the request's deadline). */
  readonly waiting: LazySignal;
}

/**
 * A body in so many pieces has to have some bytes in each. A chunk of HTTP/1.1 of one byte costs as much as one of 16 KiB
 * and is a buffer of its own: a body of 3 MB would be a gigabyte. Those who write letter by letter send short bodies.
 */
const SHORT_PIECES_MAX = 1_024;
const PIECE_BYTES_MIN = 32;

export function areTooShort(pieces: number, bytes: number): boolean {
  return pieces > SHORT_PIECES_MAX && bytes < pieces * PIECE_BYTES_MIN;
}

/** Most bodies arrive with their headers; only later ones need a signal. */
const PATIENCE_MS = 50;

const EMPTY_BODY = Buffer.alloc(0);

/**
 * Reads the body to its end.
 * @returns a promise only when it has not arrived yet
 * @throws {StatusError} 413 too large, 400 cut short, 415 compressed, or the signal's reason
 */
export function readBody(
  request: IncomingMessage | Http2Request,
  { bytesMax = BODY_BYTES_MAX, waiting }: ReadBodyOptions,
): Buffer | Promise<Buffer> {
  refuseEncodedBody(request.headers["content-encoding"]);
  const announced = announcedLength(request.headers["content-length"]);
  if (announced !== undefined && announced > bytesMax) throw tooLarge(bytesMax);
  if (announced === 0) return EMPTY_BODY;
  const overHttp2 = "stream" in request;
  const body = overHttp2 ? request.stream : request;
  const whole = arrivedWhole(body, announced);
  if (overHttp2) {
    if (whole === undefined) body.on("data", (chunk: Buffer) => request.bodyTaken(chunk.length));
    else request.bodyTaken(whole.length);
  }
  return whole ?? collect(body, { bytesMax, announced, waiting });
}

/** A body that came with its headers, as most do: neither listeners nor a timer are needed for it. */
function arrivedWhole(body: Readable, announced: number | undefined): Buffer | undefined {
  if (announced === undefined || body.readableLength !== announced) return undefined;
  const bytes = body.read() as Buffer;
  leaveRest(body);
  return bytes;
}

/**
 * All bytes are there, and only the end is left. Over HTTP/1.1 the next request waits for it. Over HTTP/2
 * it comes with the end of the answer: a stream whose reading has ended is destroyed before its answer is
 * written, and Node makes an error for that.
 */
function leaveRest(body: Readable): void {
  // A late "error" without a listener would end the process.
  body.on("error", ignore);
  if (body instanceof IncomingMessage) body.resume();
  else body.pause();
}

function refuseEncodedBody(encoding: string | undefined): void {
  if (encoding === undefined || encoding === "" || encoding.toLowerCase() === "identity") return;
  throw new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `the body of the request has the content encoding ${JSON.stringify(encoding.slice(0, 100))}; only identity is accepted`,
    reason: "UnsupportedMediaType",
    code: 415,
  });
}

function announcedLength(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const length = Number(header);
  if (!/^\d+$/.test(header)) throw badRequest("the Content-Length header is not a number");
  return length;
}

function tooLarge(bytesMax: number): StatusError {
  return requestEntityTooLarge(`Request entity too large: limit is ${bytesMax}`);
}

interface Collecting {
  readonly bytesMax: number;
  /** Undefined: until the stream ends. */
  readonly announced: number | undefined;
  readonly waiting: LazySignal;
}

function collect(body: Readable, { bytesMax, announced, waiting }: Collecting): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let signal: AbortSignal | undefined;

    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) return fail(tooLarge(bytesMax));
      chunks.push(chunk);
      if (areTooShort(chunks.length, bytes)) {
        fail(
          badRequest(
            `the body of the request comes in ${chunks.length} pieces of ${Math.ceil(bytes / chunks.length)} bytes`,
          ),
        );
        // What is left would come in such pieces as well.
        body.destroy();
        return;
      }
      if (bytes === announced) finish();
    };
    const finish = () => {
      detach();
      leaveRest(body);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    };
    const onCut = () => fail(badRequest("the body of the request ended too early"));
    const onAbort = () => fail(signal?.reason);
    const patience = setTimeout(() => {
      signal = waiting.signal;
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    }, PATIENCE_MS);
    const fail = (error: unknown) => {
      detach();
      body.on("error", ignore);
      // The rest of the body is discarded, so that the client reads the answer; the listener's
      // request timeout bounds the time.
      body.resume();
      reject(error);
    };
    const detach = () => {
      body.off("data", onData);
      body.off("end", finish);
      body.off("aborted", onCut);
      body.off("error", onCut);
      body.off("close", onCut);
      clearTimeout(patience);
      signal?.removeEventListener("abort", onAbort);
    };

    body.on("data", onData);
    body.on("end", finish);
    body.on("aborted", onCut);
    body.on("error", onCut);
    body.on("close", onCut);
    if (body.destroyed && !body.readableEnded) onCut();
  });
}

function ignore(): void {}
