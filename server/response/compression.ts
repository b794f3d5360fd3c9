/**
 * Compression of answers sent in one piece (S1-NEG-18, S1-NEG-19): gzip on the platform's thread pool,
 * so that the event loop is not blocked. Lists are built from compressed runs (gzip-member.ts). Never
 * used for watches: an event must not wait in a compressor.
 */
import { constants, gzip } from "node:zlib";
import { ClientGoneError, type RequestContext } from "../request/request-state.js";
import { sendBytes } from "./send-bytes.js";

export interface Compression {
  /** Smaller answers are sent uncompressed: one packet stays one packet. */
  readonly minBytes: number;
}

/** The fastest level: the next ones take half as long again for a few per cent. */
const LEVEL = constants.Z_BEST_SPEED;
/** name, value, name, value, ... */
export const GZIP_HEADERS = ["Content-Encoding", "gzip", "Vary", "Accept-Encoding"];

/** Like sendBytes, compressed if the client accepts it and the answer is large enough. */
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

/** Whether the client accepts gzip; a quality of 0 forbids it. */
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
