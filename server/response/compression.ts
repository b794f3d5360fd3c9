/**
 * Compression of answers to get and list (S1-NEG-18, S1-NEG-19): gzip, on threads of the platform's
 * pool, so that the event loop goes on. Never for watches: an event must not wait in a compressor.
 */
import { constants, createGzip, type Gzip, gzip } from "node:zlib";
import { ClientGoneError, type RequestContext } from "../request/request-state.js";
import { openSink, type ResponseSink, SharedChunk, type SinkOptions } from "./response-sink.js";
import { sendBytes } from "./send-bytes.js";

export interface Compression {
  /** Smaller answers go as they are: one packet stays one packet. */
  readonly minBytes: number;
}

/** The fastest level: the next ones take half as long again for a few per cent. */
const LEVEL = constants.Z_BEST_SPEED;
/** Compressed bytes that leave in one piece. */
const PIECE_BYTES = 64 * 1024;

/** name, value, name, value, ... */
const GZIP_HEADERS = ["Content-Encoding", "gzip", "Vary", "Accept-Encoding"];

/** As sendBytes, compressed where the client takes it and it is worth while. */
export async function sendCompressed(
  ctx: RequestContext,
  status: number,
  headers: readonly string[],
  body: Buffer,
  compression: Compression | undefined,
): Promise<void> {
  if (compression === undefined || body.length < compression.minBytes || !acceptsGzip(ctx)) {
    sendBytes(ctx, status, headers, body);
    return;
  }
  const compressed = await compress(body);
  if (ctx.res.destroyed) throw new ClientGoneError();
  sendBytes(ctx, status, [...headers, ...GZIP_HEADERS], compressed);
}

/** As openSink, for a body that is known to be long. */
export function openCompressedSink(
  ctx: RequestContext,
  options: SinkOptions,
  compression: Compression | undefined,
): ResponseSink {
  if (compression === undefined || !acceptsGzip(ctx) || ctx.method === "HEAD") {
    return openSink(ctx, options);
  }
  const headers = {
    ...options.headers,
    "Content-Encoding": "gzip",
    Vary: "Accept-Encoding",
  };
  return new GzipSink(openSink(ctx, { ...options, headers }));
}

/** Whether the client takes gzip; a quality of 0 forbids it. */
export function acceptsGzip(ctx: RequestContext): boolean {
  const header = ctx.req.headers["accept-encoding"];
  if (header === undefined) return false;
  if (header === "gzip") return true;
  return String(header)
    .split(",")
    .some((part) => {
      const [coding = "", ...parameters] = part.split(";").map((piece) => piece.trim());
      if (coding.toLowerCase() !== "gzip") return false;
      return !parameters.some((parameter) => /^q=0(\.0{0,3})?$/i.test(parameter));
    });
}

function compress(body: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gzip(body, { level: LEVEL }, (error, result) => (error ? reject(error) : resolve(result)));
  });
}

/**
 * Compresses what is written to another sink, at that sink's pace: while it is full the compressor
 * rests, and while the compressor is full the writer waits.
 */
class GzipSink implements ResponseSink {
  readonly isMessageBased = false;
  readonly #inner: ResponseSink;
  readonly #gzip: Gzip;
  #onDrain: (() => void) | undefined;

  constructor(inner: ResponseSink) {
    this.#inner = inner;
    this.#gzip = createGzip({ level: LEVEL, chunkSize: PIECE_BYTES });
    this.#gzip.on("data", (piece: Buffer) => {
      if (!inner.write(piece)) this.#gzip.pause();
    });
    this.#gzip.on("drain", () => this.#onDrain?.());
    this.#gzip.on("end", () => inner.end());
    this.#gzip.on("error", () => inner.destroy());
    inner.onDrain(() => this.#gzip.resume());
    inner.onClose(() => this.#gzip.destroy());
  }

  get writableLength(): number {
    return this.#gzip.writableLength + this.#gzip.readableLength + this.#inner.writableLength;
  }

  get isClosed(): boolean {
    return this.#inner.isClosed;
  }

  write(chunk: Buffer | string | SharedChunk): boolean {
    if (this.isClosed) return false;
    return this.#gzip.write(chunk instanceof SharedChunk ? chunk.bytes : chunk);
  }

  cork(): void {}

  uncork(): void {}

  onDrain(callback: () => void): void {
    this.#onDrain = callback;
  }

  onClose(callback: () => void): void {
    this.#inner.onClose(callback);
  }

  end(): void {
    this.#gzip.end();
  }

  destroy(): void {
    this.#gzip.destroy();
    this.#inner.destroy();
  }
}
