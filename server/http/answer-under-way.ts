/**
 * Whether an HTTP/1.1 connection has an answer under way: answers keep their order, so without one no request is.
 */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** The answer that the connection sends or waits for. Node has no public name for it. */
export function answerUnderWay(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}
