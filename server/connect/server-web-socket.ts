/** A server-side WebSocket (RFC 6455) on an upgraded connection, with back-pressure. */
import { type WebSocket, WebSocketServer } from "ws";
import { badRequest } from "../api/status.js";
import type { RequestContext } from "../request/request-state.js";
import type { Upgrade } from "../request/upgrade.js";

/** The size limit of a client's message. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** Answers with 101 and takes over the connection. @throws {StatusError} 400 */
export function acceptWebSocket(
  ctx: RequestContext,
  { request, socket, head }: Upgrade,
  protocol: string,
): WebSocket {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
  });
  let refusal: Error | undefined;
  let accepted: WebSocket | undefined;
  server.on("wsClientError", (error) => {
    refusal = error;
  });
  // Tunnel protocol names contain a slash, which ws refuses, so it does not see them.
  delete request.headers["sec-websocket-protocol"];
  server.on("headers", (headers) => {
    headers.push(`Sec-WebSocket-Protocol: ${protocol}`, `Audit-Id: ${ctx.state.auditId}`);
  });
  server.handleUpgrade(request, socket, head, (webSocket) => {
    accepted = webSocket;
  });
  if (accepted === undefined) throw badRequest(refusal?.message ?? "the WebSocket was not opened");
  accepted.on("error", () => accepted?.terminate());
  ctx.status = 101;
  ctx.respond = false;
  return accepted;
}

/** Resolves when more may be sent. */
export function sendMessage(webSocket: WebSocket, ...parts: readonly Buffer[]): Promise<void> {
  return new Promise((resolve) => {
    if (webSocket.readyState !== webSocket.OPEN) return resolve();
    webSocket.send(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), () =>
      resolve(),
    );
  });
}

/** The bytes of a message in any form that ws uses. */
export function bytesOf(message: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Array.isArray(message)) return Buffer.concat(message);
  return Buffer.isBuffer(message) ? message : Buffer.from(message);
}
