/**
 * Answers of get with a large object in an encoding that takes long: written in turns, and sent as it is written. Nested
 * deep, an object takes many times its size as YAML, so what is longer than most is not gathered to be compressed.
 */
import type { Steps } from "../../../storage/base/steps.js";
import type { RequestContext } from "../../request/request-state.js";
import { acceptsGzip, sendCompressed } from "../../response/compression.js";
import { openSink } from "../../response/response-sink.js";
import { ChunkWriter } from "../chunk-writer.js";
import { putInTurns } from "../long-pieces.js";
import { listPace, PacedStream } from "../paced-stream.js";
import { sendWritten } from "../send-written.js";
import type { ReadServices } from "./resource-read.js";

/** Longer answers are not compressed. */
const GATHERED_BYTES_MAX = 4 * 1024 * 1024;

/** @param steps write the object */
export async function sendLong(
  ctx: RequestContext,
  contentType: string,
  steps: (out: ChunkWriter) => Steps<void>,
  { chunks, compression }: Pick<ReadServices, "chunks" | "compression">,
): Promise<void> {
  const isGathered = compression !== undefined && ctx.method !== "HEAD" && acceptsGzip(ctx);
  const out = new ChunkWriter(isGathered ? undefined : chunks);
  let stream: PacedStream | undefined;
  const isFull = () => (isGathered ? out.length >= GATHERED_BYTES_MAX : out.isFull);
  const isWanted = await putInTurns(steps(out), isFull, () => {
    if (!isFull()) {
      return ctx.state.nextTurn().then(() => true);
    }
    // What fails before is answered as an error.
    const headers = { "Content-Type": contentType };
    stream ??= new PacedStream(openSink(ctx, { status: 200, headers }), listPace(ctx));
    return stream.write(out);
  });
  if (!isWanted) return;
  const headers = ["Content-Type", contentType];
  if (stream !== undefined) await stream.end(out);
  else if (isGathered) await sendCompressed(ctx, 200, headers, out.take(), compression);
  else sendWritten(ctx, headers, out);
}
