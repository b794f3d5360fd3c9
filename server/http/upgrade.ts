/**
 * Connections whose client asks for another protocol. Node has taken its HTTP parser off them, so the
 * request gets a response of its own on the raw connection and goes through the chain like any other;
 * a watch may make it a WebSocket (server/response/web-socket-sink.ts). Everything else is answered as
 * if no other protocol had been asked for (RFC 9110 section 7.8), and the connection is closed.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { attachUpgrade } from "../request/upgrade.js";
import type { RequestListener } from "./application.js";

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
    // Another response is still under way on this connection: the client did not wait for it.
    socket.destroy();
    return;
  }
  response.once("finish", () => socket.end());
  // Without a parser no body arrives; whoever wants to read one sees that there is none.
  if (!request.readableEnded && !request.complete) request.push(null);
  attachUpgrade({ request, socket, head });
  handle(request, response);
}

function ignore(): void {}
