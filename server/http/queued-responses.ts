/**
 * Responses that stand in the queue of an HTTP/1.1 connection: a client may send requests without waiting
 * for answers (RFC 9112, 9.3.2), and they are answered in order. When the connection closes, Node tells
 * the response that was being sent, and not those behind it; whoever gives something back at the end of a
 * response would wait for them for ever.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What Node sets on the response that was being sent. */
interface Closable {
  destroyed: boolean;
  _closed: boolean;
}

const queues = new WeakMap<Socket, Set<ServerResponse>>();

/** Has the response close with its connection, should that come before its turn. */
export function closeWithConnection(socket: Socket, response: ServerResponse): void {
  let queue = queues.get(socket);
  if (queue === undefined) {
    queue = new Set();
    queues.set(socket, queue);
    socket.once("close", closeAll);
  }
  queue.add(response);
  // Its turn has come: from now on Node tells it.
  response.once("socket", () => queue.delete(response));
}

function closeAll(this: Socket): void {
  for (const response of queues.get(this) ?? []) {
    Object.assign(response, { destroyed: true, _closed: true } satisfies Closable);
    response.emit("close");
  }
}
