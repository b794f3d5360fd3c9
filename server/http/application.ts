/**
 * The Koa application: contexts by Koa, the request chain as its middleware. It differs from
 * `app.callback()` in cost: bodies here are bytes or text, never streams, so Koa's end-of-response
 * tracking and its body type detection (3 µs) are left out.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import Koa, { type Next } from "koa";
import type { Logger } from "../../storage/base/logger.js";
import { type Check, isGate } from "../request/gate.js";
import type { RequestContext, RequestMiddleware, RequestState } from "../request/request-state.js";

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

export function createApplication(
  chain: readonly RequestMiddleware[],
  logger: Logger,
): RequestListener {
  const app = new Koa<RequestState>();
  const run = composeChain(chain);
  return (request, response) => {
    // A failed response has no other listener; its request gets `close`.
    response.on("error", ignore);
    response.statusCode = 404;
    const ctx = app.createContext(request, response) as RequestContext;
    run(ctx).then(
      () => respond(ctx),
      (error: unknown) => {
        // The chain answers all errors itself, so this is a defect in the chain.
        logger.error({ err: error }, "request chain failed");
        response.destroy();
      },
    );
  };
}

type Run = (ctx: RequestContext) => Promise<void>;

/** Combines the steps into one function. Consecutive gates run in a loop, without a `next`. */
function composeChain(steps: readonly RequestMiddleware[]): Run {
  let run: Run = () => Promise.resolve();
  let checks: Check[] = [];
  for (const step of steps.toReversed()) {
    if (isGate(step)) {
      checks.unshift(step.check);
      continue;
    }
    run = withStep(step, behind(checks, run));
    checks = [];
  }
  const first = behind(checks, run);
  // The first step may throw synchronously; callers of the chain expect promises.
  return async (ctx) => await first(ctx);
}

function withStep(step: RequestMiddleware, rest: Run): Run {
  return (ctx) => step(ctx as Parameters<typeof step>[0], (() => rest(ctx)) as Next);
}

function behind(checks: readonly Check[], rest: Run): Run {
  if (checks.length === 0) return rest;
  const runFrom = (first: number, ctx: RequestContext): Promise<void> => {
    for (let at = first; at < checks.length; at++) {
      const waiting = checks[at]?.(ctx);
      if (waiting !== undefined) return goOn(waiting, at + 1, ctx);
    }
    return rest(ctx);
  };
  // Outside the loop, because a closure in it would cost every request a context per iteration.
  const goOn = async (waiting: Promise<void>, at: number, ctx: RequestContext) => {
    await waiting;
    await runFrom(at, ctx);
  };
  return (ctx) => runFrom(0, ctx);
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
