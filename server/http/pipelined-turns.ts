/**
 * PipelinedTurns: begins the requests of one HTTP/1.1 connection one after the other. A client may send requests without
 * waiting for answers (RFC 9112, 9.3.2), and Node.js tells of all that it has read in one turn of the event loop: 64 KiB
 * are a thousand of them. Each begins in a turn of its own, once the answer before it has been written; what never
 * begins has taken nothing that would have to be given back.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ReadingTurns } from "./reading-turns.js";
import type { RequestListener } from "./request-listener.js";

/** A connection with more requests waiting is closed; clients in use wait for each answer. */
const WAITING_MAX = 100;

export class PipelinedTurns {
  readonly #begin: RequestListener;
  readonly #reading: Pick<ReadingTurns, "begunAlone">;
  readonly #waiting = new WeakMap<Socket, number>();

  constructor(begin: RequestListener, reading: Pick<ReadingTurns, "begunAlone">) {
    this.#begin = begin;
    this.#reading = reading;
  }

  /** Takes a request behind another one of its connection: its response has no socket yet. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    this.#reading.begunAlone();
    const waiting = (this.#waiting.get(socket) ?? 0) + 1;
    if (waiting > WAITING_MAX) {
      if (!socket.destroyed) cut(socket);
      return;
    }
    this.#waiting.set(socket, waiting);
    response.once("socket", () => {
      this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1);
      setImmediate(() => {
        if (!socket.destroyed) this.#begin(request, response);
      });
    });
  }
}

/** Node.js makes an error for each request that has not been answered, and the texts of their stacks cost more than all else. */
function cut(socket: Socket): void {
  const { stackTraceLimit } = Error;
  socket.prependOnceListener("close", () => {
    Error.stackTraceLimit = 0;
  });
  socket.once("close", () => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  socket.destroy();
}
