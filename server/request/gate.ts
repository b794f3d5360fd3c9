/**
 * Gates: steps of the request chain that run before the next steps and have no work after them. They are
 * middlewares like all others, but the chain runs them in a loop, without a closure and a promise for each
 * (http/application.ts).
 */
import type { RequestContext, RequestMiddleware } from "./request-state.js";

/** Continues when it returns nothing or its promise resolves; refuses by throwing. */
export type Check = (ctx: RequestContext) => Promise<void> | undefined;

export interface Gate extends RequestMiddleware {
  readonly check: Check;
}

export function gate(check: Check): Gate {
  const step: RequestMiddleware = (ctx, next) => {
    const waiting = check(ctx);
    return waiting === undefined ? next() : waiting.then(next);
  };
  return Object.assign(step, { check });
}

export function isGate(step: RequestMiddleware): step is Gate {
  return "check" in step;
}
