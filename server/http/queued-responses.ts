/**
 * Queued responses of an HTTP/1.1 connection: a client may send requests without waiting for answers (RFC
 * 9112, 9.3.2), and they are answered in order. When the connection closes, Node notifies only the
 * response being sent; code that releases resources at the end of the others would wait for ever.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Set by Node on the response being sent. */
interface Closable {
  destroyed: boolean;
  _closed: boolean;
}

/** Arrays: a Set that responses enter and leave lets later requests get old (decision 59). */
const queues = new WeakMap<Socket, ServerResponse[]>();

/** Closes the response with its connection, if that ends before its turn. */
export function closeWithConnection(socket: Socket, response: ServerResponse): void {
  let queue = queues.get(socket);
  if (queue === undefined) {
    queue = [];
    queues.set(socket, queue);
    socket.once("close", closeAll);
  }
  queue.push(response);
  // Its turn has come, as it is answered in order: from now on Node notifies it.
  response.once("socket", () => queue.shift());
}

function closeAll(this: Socket): void {
  for (const response of queues.get(this) ?? []) {
    Object.assign(response, { destroyed: true, _closed: true } satisfies Closable);
    response.emit("close");
  }
}
