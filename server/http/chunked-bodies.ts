/**
 * Counts the chunks of a body of HTTP/1.1 when Node.js tells of them, before anybody reads: 64 KiB are ten thousand chunks of a
 * byte, each a call and a buffer. Other connections are read in later turns, and what is behind the bound is not kept.
 */
import { IncomingMessage } from "node:http";
import { areTooShort } from "../request/read-body.js";
import type { ReadingTurns } from "./reading-turns.js";

export function countChunks(
  request: IncomingMessage,
  reading: Pick<ReadingTurns, "begunAlone">,
): void {
  let pieces = 0;
  let bytes = 0;
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) return IncomingMessage.prototype.push.call(request, null);
    reading.begunAlone();
    bytes += chunk.length;
    // The first chunk too many is passed on, so that a reader refuses the body; at the next one the connection ends here.
    if (areTooShort(pieces++, bytes)) {
      request.socket.destroy();
      return false;
    }
    return IncomingMessage.prototype.push.call(request, chunk);
  };
}
