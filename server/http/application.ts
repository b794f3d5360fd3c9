/** The Koa application around the request chain, as a listener for node's HTTP servers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import Koa from "koa";
import type { Logger } from "../../storage/base/logger.js";
import type { RequestMiddleware, RequestState } from "../request/request-state.js";

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

export function createApplication(
  chain: readonly RequestMiddleware[],
  logger: Logger,
): RequestListener {
  const app = new Koa<RequestState>();
  for (const step of chain) app.use(step);
  // What arrives here came after the answer: a client that hung up in the middle of it.
  app.on("error", (error: unknown) => {
    logger.debug({ err: error }, "connection ended before its answer was sent");
  });
  const handle = app.callback();
  return (request, response) => {
    void handle(request, response);
  };
}
