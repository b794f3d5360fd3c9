/**
 * Counts the pieces of a body when Node.js tells of them, before anybody reads: 64 KiB are ten thousand chunks of HTTP/1.1 of a
 * byte, or six thousand frames of HTTP/2, each a call and a buffer. Other connections are read in later turns, and what is
 * behind the bound is not kept.
 */
import type { IncomingMessage } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";
import { areTooShort } from "../request/read-body.js";
import type { ReadingTurns } from "./reading-turns.js";

type Reading = Pick<ReadingTurns, "begunAlone">;

/** Of a body of HTTP/1.1. Its connection ends with too many. */
export function countChunks(request: IncomingMessage, reading: Reading): void {
  countPieces(request, reading, () => request.socket.destroy());
}

/** Of a body of HTTP/2. Its stream ends with too many. */
export function countFrames(stream: ServerHttp2Stream, reading: Reading): void {
  // Not now: Node.js is inside the parser of the session's frames.
  const end = () => setImmediate(() => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM));
  countPieces(stream, reading, end);
}

function countPieces(body: Readable, reading: Reading, end: () => void): void {
  let pieces = 0;
  let bytes = 0;
  let isEnding = false;
  const push = body.push.bind(body);
  body.push = (piece: Buffer | null) => {
    if (piece === null) return push(null);
    reading.begunAlone();
    bytes += piece.length;
    // The first piece too many is passed on, so that a reader refuses the body; at the next one its way ends here.
    if (!areTooShort(pieces++, bytes)) return push(piece);
    if (!isEnding) end();
    isEnding = true;
    return false;
  };
}
