/**
 * The Koa application: contexts by Koa, the request chain as its middleware. What differs from
 * `app.callback()` is what a request costs: bodies here are bytes or text, never streams, so Koa's
 * watch over the end of each response and its choice of body types (3 µs) are left out.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import Koa, { type Next } from "koa";
import type { Logger } from "../../storage/base/logger.js";
import type { RequestContext, RequestMiddleware, RequestState } from "../request/request-state.js";

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

export function createApplication(
  chain: readonly RequestMiddleware[],
  logger: Logger,
): RequestListener {
  const app = new Koa<RequestState>();
  return (request, response) => {
    // A response that fails on its way has no other listener; its request sees `close`.
    response.on("error", ignore);
    response.statusCode = 404;
    const ctx = app.createContext(request, response) as RequestContext;
    runChain(chain, ctx).then(
      () => respond(ctx),
      (error: unknown) => {
        // The chain answers all errors itself, so this is a defect of the chain.
        logger.error({ err: error }, "request chain failed");
        response.destroy();
      },
    );
  };
}

/** Runs the steps in order, each with the way to the next. */
async function runChain(steps: readonly RequestMiddleware[], ctx: RequestContext): Promise<void> {
  const next = (at: number): Promise<void> => {
    const step = steps[at];
    // Steps that add nothing of their own throw at once; those around them are async and catch it.
    return step === undefined
      ? Promise.resolve()
      : step(ctx as Parameters<typeof step>[0], (() => next(at + 1)) as Next);
  };
  await next(0);
}

/** Sends `ctx.body`, unless a sink or sendBytes has taken over. */
function respond(ctx: RequestContext): void {
  if (ctx.respond === false) return;
  const { res } = ctx;
  const body = ctx.body as Buffer | string | null | undefined;
  // Asked before `writable`, which is false for HEAD over HTTP/2: there Node has ended the body.
  if (body === null || body === undefined || ctx.method === "HEAD") res.end();
  // As a buffer: in front of a text Node would encode non-ASCII header values a second time.
  else if (ctx.writable) res.end(typeof body === "string" ? Buffer.from(body, "utf8") : body);
}

function ignore(): void {}
