/**
 * The Koa application: contexts by Koa, the request chain in the place of its middleware. It differs from
 * `app.callback()` in cost: bodies here are bytes or text, never streams, so Koa's end-of-response
 * tracking and its body type detection (3 µs) are left out.
 */
import Koa from "koa";
import type { RequestListener } from "../http/request-listener.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import { composeChain, type RequestChain } from "./compose-chain.js";

/** @param basePath what every URL begins with, and what only logs and links to oneself show: `ctx.originalUrl` */
export function createApplication(chain: RequestChain, basePath = ""): RequestListener {
  const app = new Koa<RequestState>();
  const run = composeChain(chain);
  return (request, response) => {
    // A failed response has no other listener; its request gets `close`.
    response.on("error", ignore);
    response.statusCode = 404;
    const context = app.createContext(request, response) as RequestContext;
    if (basePath !== "") request.url = withoutBase(request.url ?? "", basePath);
    void run(context);
  };
}

/** "/clusters/shop/api" is "/api", and "/clusters/shop?x" is "/?x". */
function withoutBase(url: string, basePath: string): string {
  const rest = url.slice(basePath.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function ignore(): void {}
