/**
 * PacedStream: writes chunks at the client's pace. While the transport is full the writer waits, so
 * memory holds one chunk per response, however large the list is (S1-NEG-16).
 *
 * A client that stalls does not keep a seat of flow control from others, as nobody works for it; what
 * its answer holds is bounded by the memory of answers. A client that has not read on when patience is
 * at its end is cut off, so that the state which it was reading can go.
 */
import { nextTurn } from "../../storage/base/next-turn.js";
import type { RequestContext } from "../request/request-state.js";
import type { ResponseSink } from "../response/sink.js";
import type { ChunkWriter } from "./chunk-writer.js";

/** Smaller pieces are copied, so that the chunk's memory is free at once. */
const COPIED_BYTES_MAX = 16 * 1024;
/** A client that takes longer for a chunk has stalled. */
const STALLED_AFTER_MS = 1_000;

export interface Pace {
  /** How long the client may take for the next chunk. */
  patienceMs(): number;
  /** It has not read for a while; called at most once for a chunk. */
  stalled(): void;
  /** The next chunk is work that others may come before; undefined = they do not. */
  turn(): Promise<void> | undefined;
}

/** setTimeout takes 31 bits. */
const PATIENCE_MS_MAX = 2 ** 31 - 1;

/** The pace of an answer that ends at the deadline of its request. */
export function listPace({ state }: Pick<RequestContext, "state">): Pace {
  return {
    patienceMs: () => Math.min(PATIENCE_MS_MAX, state.deadlineMs - performance.now()),
    stalled: () => state.seats?.release(performance.now()),
    turn: () => (state.turns === undefined ? nextTurn() : state.turns.next(state)),
  };
}

export class PacedStream {
  readonly #sink: ResponseSink;
  readonly #pace: Pace;
  #wake: (() => void) | undefined;

  constructor(sink: ResponseSink, pace: Pace) {
    this.#sink = sink;
    this.#pace = pace;
    const wake = () => this.#wake?.();
    sink.onDrain(wake);
    sink.onClose(wake);
  }

  /**
   * Sends what `out` has gathered, and empties it. Resolves when more may come, and it is its turn.
   * @returns false when the client is gone
   */
  async write(out: ChunkWriter): Promise<boolean> {
    if (!(await this.#send(out))) return false;
    const turn = this.#pace.turn();
    if (turn !== undefined) await turn;
    return !this.#sink.isClosed;
  }

  /** Sends the last chunk; `out` is not used again. */
  async end(out: ChunkWriter): Promise<void> {
    await this.#send(out);
    this.#sink.end();
    out.release();
  }

  async #send(out: ChunkWriter): Promise<boolean> {
    const isCopied = out.length <= COPIED_BYTES_MAX;
    const hasRoom = isCopied ? this.#sink.write(Buffer.from(out.peek())) : out.writeTo(this.#sink);
    if (!hasRoom) await this.#drained();
    // Everything went to the operating system: the memory is ours again.
    const isSent = this.#sink.writableLength === 0 && !this.#sink.isClosed;
    if (isCopied || isSent) out.reset();
    else out.renew();
    return !this.#sink.isClosed;
  }

  #drained(): Promise<void> {
    if (this.#sink.isClosed || this.#sink.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const patienceMs = Math.max(0, this.#pace.patienceMs());
      const cut = () => this.#sink.destroy();
      const lose = () => {
        this.#pace.stalled();
        timer = setTimeout(cut, patienceMs - STALLED_AFTER_MS);
      };
      const isShort = patienceMs <= STALLED_AFTER_MS;
      let timer = isShort ? setTimeout(cut, patienceMs) : setTimeout(lose, STALLED_AFTER_MS);
      this.#wake = () => {
        this.#wake = undefined;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
