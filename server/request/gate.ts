/**
 * Gates: steps of the request chain that look at a request before what follows and have nothing to do
 * behind it. They are middlewares like all others, but the chain knows them and runs them one after another,
 * without a closure and a promise for each (http/application.ts).
 */
import type { RequestContext, RequestMiddleware } from "./request-state.js";

/** Goes on where it returns nothing, or when its promise resolves; refuses by throwing. */
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
