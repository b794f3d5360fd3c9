/**
 * The Koa application: contexts by Koa, the request chain in the place of its middleware. It differs from
 * `app.callback()` in cost: bodies here are bytes or text, never streams, so Koa's end-of-response
 * tracking and its body type detection (3 µs) are left out.
 */
import Koa from "koa";
import type { Logger } from "../../storage/base/logger.js";
import type { RequestListener } from "../http/request-listener.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import { bracket, passAll, type RequestStep } from "../request/step.js";
import { composeChain, type RequestChain } from "./compose-chain.js";

/** @param basePath what every URL begins with, and what only logs and links to oneself show: `ctx.originalUrl` */
export function createApplication(
  chain: RequestChain,
  logger: Logger,
  basePath = "",
): RequestListener {
  const app = new Koa<RequestState>();
  const run = composeChain({ ...chain, steps: [sending(logger), ...chain.steps] });
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

/** The outermost step. */
function sending(logger: Logger): RequestStep {
  return bracket(passAll, function send(ctx, failure) {
    if (failure === undefined) {
      respond(ctx);
    } else {
      // The chain answers all errors itself, so this is a defect in the chain.
      logger.error({ err: failure.error }, "request chain failed");
      ctx.res.destroy();
    }
    return undefined;
  });
}

/** Sends `ctx.body`, unless a sink or sendBytes has taken over. */
function respond(ctx: RequestContext): void {
  if (ctx.respond === false) return;
  const { res } = ctx;
  const body = ctx.body as Buffer | string | null | undefined;
  // Checked before `writable`, which is false for HEAD over HTTP/2, where Node has ended the body.
  if (body === null || body === undefined || ctx.method === "HEAD") res.end();
  // As a buffer: before a string Node would encode non-ASCII header values a second time.
  else if (ctx.writable) res.end(typeof body === "string" ? Buffer.from(body, "utf8") : body);
}

function ignore(): void {}
