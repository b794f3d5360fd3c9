/**
 * Connections whose client requests another protocol. Node has removed its HTTP parser, so the request
 * gets its own response on the raw connection and goes through the chain like any other; a watch may
 * make it a WebSocket (server/response/web-socket-sink.ts). Otherwise the request is answered as if no
 * other protocol had been requested (RFC 9110 section 7.8), and the connection is closed.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { attachUpgrade } from "../request/upgrade.js";
import type { RequestListener } from "./request-listener.js";

export function answerUpgrade(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  handle: RequestListener,
): void {
  socket.on("error", ignore);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(socket);
  } catch {
    // The client did not wait for another response that is still under way on this connection.
    socket.destroy();
    return;
  }
  response.once("finish", () => socket.end());
  // Without a parser no body arrives; a reader of the body sees that there is none.
  if (!request.readableEnded && !request.complete) request.push(null);
  attachUpgrade({ request, socket, head });
  handle(request, response);
}

function ignore(): void {}
