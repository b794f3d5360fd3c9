/**
 * PacedStream: writes chunks at the client's pace. While the transport is full the writer waits, so
 * memory holds one chunk per response, however large the list is (S1-NEG-16).
 */
import type { ResponseSink } from "../response/sink.js";
import type { ChunkWriter } from "./chunk-writer.js";

/** Smaller pieces are copied, so that the chunk's memory is free at once. */
const COPIED_BYTES_MAX = 16 * 1024;

export class PacedStream {
  readonly #sink: ResponseSink;
  #wake: (() => void) | undefined;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
    const wake = () => this.#wake?.();
    sink.onDrain(wake);
    sink.onClose(wake);
  }

  /**
   * Sends what `out` has gathered, and empties it. Resolves when more may come.
   * @returns false when the client is gone
   */
  async write(out: ChunkWriter): Promise<boolean> {
    const isCopied = out.length <= COPIED_BYTES_MAX;
    const hasRoom = isCopied ? this.#sink.write(Buffer.from(out.peek())) : out.writeTo(this.#sink);
    if (!hasRoom) await this.#drained();
    // Everything went to the operating system: the memory is ours again.
    const isSent = this.#sink.writableLength === 0 && !this.#sink.isClosed;
    if (isCopied || isSent) out.reset();
    else out.renew();
    return !this.#sink.isClosed;
  }

  /** Sends the last chunk; `out` is not used again. */
  async end(out: ChunkWriter): Promise<void> {
    await this.write(out);
    this.#sink.end();
    out.release();
  }

  #drained(): Promise<void> {
    if (this.#sink.isClosed || this.#sink.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
