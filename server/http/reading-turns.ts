/**
 * ReadingTurns: ends the reading of a listener's connections in turns of the event loop that have begun many
 * requests, or taken many pieces of bodies. Node.js reads 64 KiB of each connection in a turn, in which a client has room
 * for a thousand requests that it takes back at once, or ten thousand chunks of a byte: six connections would make six times
 * as many in one turn (H5). What is left is read in later turns, a connection or two in each, and whoever else asks
 * for something is read between them.
 *
 *     A1000 B1000 C1000 D1000 | x       x waits for all
 *     A1000 | B1000 x | C1000 | ...     x waits for two
 */

/** As many as one connection may have open at once. */
const BEGUN_PER_TURN = 250;
/** Each stop and start of a connection costs system calls, so none is stopped while there are more connections. */
const CONNECTIONS_MAX = 1_000;

export interface ReadConnection {
  stopReading(): void;
  startReading(): void;
}

export class ReadingTurns {
  readonly #connections = new Set<ReadConnection>();
  #begun = 0;
  #hasStopped = false;

  add(connection: ReadConnection): void {
    this.#connections.add(connection);
  }

  /** Forgets a connection that has ended, or that is never read again. */
  remove(connection: ReadConnection): void {
    this.#connections.delete(connection);
  }

  /**
   * One of the connections has begun a request; `endTurn` follows in the same turn of the loop.
   * @param weight 1 = as a request of HTTP/1.1
   */
  begun(weight = 1): void {
    this.#begun += weight;
    if (this.#begun < BEGUN_PER_TURN || this.#hasStopped) return;
    if (this.#connections.size > CONNECTIONS_MAX) return;
    this.#hasStopped = true;
    for (const connection of this.#connections) connection.stopReading();
  }

  /** Like `begun`, for a caller that does not call `endTurn`. */
  begunAlone(): void {
    if (this.#begun === 0) setImmediate(() => this.endTurn());
    this.begun();
  }

  endTurn(): void {
    this.#begun = 0;
    if (!this.#hasStopped) return;
    this.#hasStopped = false;
    for (const connection of this.#connections) connection.startReading();
  }
}
