/**
 * Answers bytes that are not an HTTP request, and requests for a tunnel. They cannot be routed, so
 * the answer is written directly to the socket: a Status if it can still be sent, and the end of the
 * connection.
 */
import type { Duplex } from "node:stream";
import type { Status } from "../api/status.js";
import { answerUnderWay } from "./answer-under-way.js";

interface Answer {
  readonly code: number;
  readonly phrase: string;
  readonly reason: string;
  readonly message: string;
}

const BAD_REQUEST: Answer = {
  code: 400,
  phrase: "Bad Request",
  reason: "BadRequest",
  message: "the request is not well-formed HTTP",
};

const NO_TUNNEL: Answer = {
  code: 405,
  phrase: "Method Not Allowed",
  reason: "MethodNotAllowed",
  message: "the server does not allow this method on the requested resource",
};

const ANSWERS: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: {
    code: 431,
    phrase: "Request Header Fields Too Large",
    reason: "RequestEntityTooLarge",
    message: "the headers of the request are too large",
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    code: 413,
    phrase: "Payload Too Large",
    reason: "RequestEntityTooLarge",
    message: "the chunk extensions of the request are too large",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 408,
    phrase: "Request Timeout",
    reason: "Timeout",
    message: "the request did not arrive in time",
  },
};

/** How long the client may keep sending after the answer; generous for data already under way. */
const LINGER_MS = 1_000;

/** Sockets already answered: each further piece of an invalid request raises its own error. */
const told = new WeakSet<Duplex>();

/** Handles `clientError` of an HTTP/1.1 server. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (told.has(socket)) return;
  // In the middle of another answer these bytes would be read as its body.
  const canAnswer =
    socket.writable &&
    error.code !== "ECONNRESET" &&
    error.code !== "ERR_TLS_HANDSHAKE_TIMEOUT" &&
    !answerUnderWay(socket)?.headersSent;
  if (!canAnswer) {
    socket.destroy();
    return;
  }
  told.add(socket);
  endPolitely(socket, ANSWERS[error.code ?? ""] ?? BAD_REQUEST);
}

/** Handles `connect`: a request for a tunnel, which Node would close without an answer. */
export function answerConnect(socket: Duplex): void {
  socket.on("error", () => socket.destroy());
  endPolitely(socket, NO_TUNNEL);
}

/**
 * Answers, and reads the data still under way: closing a connection with unread bytes resets it, and
 * the reset may overtake the answer (RFC 9112 section 9.6).
 */
function endPolitely(socket: Duplex, answer: Answer): void {
  socket.end(render(answer));
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

function render({ code, phrase, reason, message }: Answer): string {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    code,
  };
  const body = `${JSON.stringify(status)}\n`;
  return [
    `HTTP/1.1 ${code} ${phrase}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-cache, private",
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}
