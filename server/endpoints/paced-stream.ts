/**
 * PacedStream: writes chunks at the client's pace. While the transport is full the writer waits, so
 * memory holds one chunk per response, however large the list is (S1-NEG-16).
 */
import type { ResponseSink } from "../response/response-sink.js";
import type { ChunkWriter } from "./chunk-writer.js";

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
    if (this.#sink.write(out.peek())) {
      out.take();
      return !this.#sink.isClosed;
    }
    await this.#drained();
    // Everything went to the operating system: the memory is ours again.
    if (this.#sink.writableLength === 0) out.reset();
    else out.take();
    return !this.#sink.isClosed;
  }

  /** Sends the last chunk. */
  end(out: ChunkWriter): void {
    this.#sink.write(out.take());
    this.#sink.end();
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
