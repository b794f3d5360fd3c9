/**
 * The request chain as one function. Its steps run in one loop and leave in one, in the reverse order, so a request
 * has a single promise for all of them; Koa's composition has one for each, and as many turns of the microtask
 * queue on the way back (docs/dev/decisions/0070).
 *
 *   steps        state, recovery, seats, handler; the seats refuse
 *   check        state ─► recovery ─► seats, which throw
 *   leave        state ◄── recovery, which answers 429; the seats were not passed, so they are not left
 */
import type { Next } from "koa";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import type { Failure, RequestStep } from "../request/step.js";

export interface RequestChain {
  readonly steps: readonly RequestStep[];
  /** Each answers, or leaves it to the next one. */
  readonly answerers: readonly RequestMiddleware[];
}

/** @returns rejects with what no step has turned into an answer */
export function composeChain({
  steps,
  answerers,
}: RequestChain): (ctx: RequestContext) => Promise<void> {
  const answer = chained(answerers);
  return async function runChain(ctx) {
    let passed = 0;
    let failure: Failure | undefined;
    try {
      for (; passed < steps.length; passed++) {
        const waiting = steps[passed]?.check(ctx);
        if (waiting !== undefined) await waiting;
      }
      await answer(ctx);
    } catch (error) {
      failure = { error };
    }
    while (passed-- > 0) {
      const leave = steps[passed]?.leave;
      if (leave === undefined) continue;
      try {
        failure = leave(ctx, failure);
      } catch (error) {
        failure = { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  };
}

type Answer = (ctx: RequestContext) => Promise<void>;

function chained(answerers: readonly RequestMiddleware[]): Answer {
  const [first, ...others] = answerers;
  if (first === undefined) return () => Promise.resolve();
  const rest = chained(others);
  return (ctx) => first(ctx as Parameters<typeof first>[0], (() => rest(ctx)) as Next);
}
