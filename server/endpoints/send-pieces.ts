/**
 * Sends a large body that comes in pieces at the client's pace: nobody holds all of it, and a turn of the event loop
 * sends a chunk at most.
 */
import type { RequestContext } from "../request/request-state.js";
import { openSink, type SinkOptions } from "../response/response-sink.js";
import { ChunkWriter } from "./chunk-writer.js";
import { listPace, PacedStream } from "./paced-stream.js";

/** @param pieces none of them larger than some hundred KiB; not read on when the client is gone */
export async function sendPieces(
  ctx: RequestContext,
  head: Pick<SinkOptions, "status" | "headers">,
  pieces: AsyncIterable<Buffer>,
): Promise<void> {
  const sink = openSink(ctx, head);
  if (ctx.method === "HEAD") return;
  const stream = new PacedStream(sink, listPace(ctx));
  const out = new ChunkWriter();
  for await (const piece of pieces) {
    out.putBytes(piece, 0, piece.length);
    if (out.isFull && !(await stream.write(out))) return;
  }
  await stream.end(out);
}
