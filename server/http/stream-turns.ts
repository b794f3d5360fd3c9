/**
 * StreamTurns: begins the requests of one HTTP/2 connection, a few in each turn of the event loop. Node.js reads
 * 64 KiB at once, in which a client has room for thousands of requests that it takes back at once (H5). What has
 * been taken back when its turn comes costs nothing, and other connections get their turns in between.
 */
import type { OpenedStream } from "./http2-streams.js";
import type { ReadingTurns } from "./reading-turns.js";

/** Requests of one connection that begin in one turn; more than a client has at once in ordinary use. */
const BEGUN_PER_TURN = 16;

/** A stream is made and ended by Node.js, beside the request that it is. */
const STREAM_WEIGHT = 2;

export class StreamTurns {
  readonly #begin: (opened: OpenedStream) => void;
  readonly #reading: Pick<ReadingTurns, "begun" | "endTurn">;
  /** Those that are open are bounded by the session's concurrent streams, the others go with the turn. */
  #waiting: OpenedStream[] = [];
  #begun = 0;
  readonly #nextTurn = () => this.#turn();

  constructor(
    begin: (opened: OpenedStream) => void,
    reading: Pick<ReadingTurns, "begun" | "endTurn">,
  ) {
    this.#begin = begin;
    this.#reading = reading;
  }

  take(opened: OpenedStream): void {
    this.#reading.begun(STREAM_WEIGHT);
    if (this.#begun === 0) setImmediate(this.#nextTurn);
    if (this.#begun++ < BEGUN_PER_TURN) this.#begin(opened);
    else {
      // Nobody else looks at it yet, and an error without a listener ends the process.
      opened.stream.on("error", ignore);
      this.#waiting.push(opened);
    }
  }

  #turn(): void {
    this.#reading.endTurn();
    this.#begun = 0;
    if (this.#waiting.length === 0) return;
    const open = this.#waiting.filter(({ stream }) => !stream.destroyed && !stream.closed);
    this.#waiting = open.splice(BEGUN_PER_TURN);
    if (this.#waiting.length > 0) {
      // In order: what arrives in this turn waits behind them.
      this.#begun = BEGUN_PER_TURN;
      setImmediate(this.#nextTurn);
    }
    for (const opened of open) this.#begin(opened);
  }
}

function ignore(): void {}
