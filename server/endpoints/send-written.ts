/**
 * sendWritten: what a ChunkWriter holds, as a whole answer. A large one is not copied: the transport reads
 * it in the writer's memory, which goes back to the pool when all of it is sent. V8 counts memory outside
 * its heap and collects old garbage for each ten megabytes more, so a copy for each page of a list made
 * collections a third of that list's CPU.
 */
import type { RequestContext } from "../request/request-state.js";
import { sendBytes } from "../response/send-bytes.js";
import type { ChunkWriter } from "./chunk-writer.js";

/** A copy of less is cheaper than waiting for its end. */
const COPIED_BYTES_MAX = 16 * 1024;

/**
 * @param headers as of `sendBytes`
 * @param out must not be used again
 */
export function sendWritten(
  ctx: RequestContext,
  headers: readonly string[],
  out: ChunkWriter,
): void {
  if (out.length <= COPIED_BYTES_MAX) {
    sendBytes(ctx, 200, headers, out.take());
    out.release();
    return;
  }
  const { res } = ctx;
  // Who hangs up leaves memory that may still be read: the garbage collector knows when.
  res.once("finish", () => {
    if (res.writableFinished) out.release();
  });
  sendBytes(ctx, 200, headers, out.peek());
}
