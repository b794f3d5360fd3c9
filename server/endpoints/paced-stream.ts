/**
 * PacedStream: writes chunks at the client's pace. The writer waits while the transport is full, so a
 * response holds one chunk of memory, however large the list is (S1-NEG-16).
 *
 * A stalled client gives up its flow control seats, because it causes no work; the memory of answers
 * bounds what it holds. A client that still does not read when the patience ends is disconnected, so that
 * its snapshot can be freed.
 */
import { getDefaultHighWaterMark } from "node:stream";
import { nextTurn } from "../../storage/base/next-turn.js";
import type { RequestContext } from "../request/request-state.js";
import type { ResponseSink } from "../response/sink.js";
import type { ChunkWriter } from "./chunk-writer.js";
import { ClientPatience } from "./client-patience.js";

/**
 * Smaller pieces are copied, so that the chunk's memory is free at once. A socket takes pieces below its mark without
 * asking for a wait, and would hold the memory behind the answer's end: each page of a list then had a new one.
 */
const COPIED_BYTES_MAX = getDefaultHighWaterMark(false);

export interface Pace {
  /** How long the client may take for the next chunk. */
  patienceMs(): number;
  /** Called when the client has stopped reading; at most once per chunk. */
  stalled(): void;
  /** Waits for the next chunk's turn to run; undefined = no wait. */
  turn(): Promise<void> | undefined;
}

/** The largest delay of setTimeout: 31 bits. */
const PATIENCE_MS_MAX = 2 ** 31 - 1;

/** The pace of an answer that ends at its request's deadline. */
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
  readonly #patience: ClientPatience;
  #wake: (() => void) | undefined;

  constructor(sink: ResponseSink, pace: Pace) {
    this.#sink = sink;
    this.#pace = pace;
    this.#patience = new ClientPatience({
      stalled: () => pace.stalled(),
      cut: () => sink.destroy(),
    });
    sink.onDrain(this.#goOn);
    sink.onClose(() => {
      this.#patience.close();
      this.#goOn();
    });
  }

  /**
   * Sends the contents of `out` and empties it. Resolves when the next chunk may be written.
   * @returns false if the client is gone
   */
  async write(out: ChunkWriter): Promise<boolean> {
    if (!(await this.#send(out))) return false;
    const turn = this.#pace.turn();
    if (turn !== undefined) await turn;
    return !this.#sink.isClosed;
  }

  /** Sends the last chunk; `out` must not be used again. */
  async end(out: ChunkWriter): Promise<void> {
    await this.#send(out);
    this.#patience.close();
    this.#sink.end();
  }

  async #send(out: ChunkWriter): Promise<boolean> {
    const isCopied = out.length <= COPIED_BYTES_MAX;
    const hasRoom = isCopied ? this.#sink.write(Buffer.from(out.peek())) : out.writeTo(this.#sink);
    if (!hasRoom) await this.#drained();
    // The operating system has all bytes, so the memory can be reused, also by others before the next turn.
    const isSent = this.#sink.writableLength === 0 && !this.#sink.isClosed;
    if (isCopied || isSent) out.release();
    else out.renew();
    return !this.#sink.isClosed;
  }

  #drained(): Promise<void> | undefined {
    if (this.#sink.isClosed || this.#sink.writableLength === 0) return undefined;
    this.#patience.begin(Math.max(0, this.#pace.patienceMs()));
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  readonly #goOn = (): void => {
    const wake = this.#wake;
    if (wake === undefined) return;
    this.#wake = undefined;
    this.#patience.end();
    wake();
  };
}
