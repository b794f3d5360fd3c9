/**
 * The Koa application: contexts by Koa, the request chain in the place of its middleware. It differs from
 * `app.callback()` in cost: bodies here are bytes or text, never streams, so Koa's end-of-response
 * tracking and its body type detection (3 µs) are left out.
 */
import Koa from "koa";
import type { RequestListener } from "../http/request-listener.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import { composeChain, type RequestChain } from "./compose-chain.js";

/** @param toOwnUrl what the chain sees of a URL; the whole one is in `ctx.originalUrl`, for logs and links to oneself */
export function createApplication(
  chain: RequestChain,
  toOwnUrl?: (url: string) => string,
): RequestListener {
  const app = new Koa<RequestState>();
  const run = composeChain(chain);
  return (request, response) => {
    // A failed response has no other listener; its request gets `close`.
    response.on("error", ignore);
    response.statusCode = 404;
    const context = app.createContext(request, response) as RequestContext;
    if (toOwnUrl !== undefined) request.url = toOwnUrl(request.url ?? "");
    void run(context);
  };
}

function ignore(): void {}
