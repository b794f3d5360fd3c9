/**
 * Steps of the request chain: what happens to every request before its handler, and after it. A gate has work
 * before the steps within it; a bracket has work on both sides. One loop runs them all, so that a step costs
 * a request no closure and no promise unless it waits (chain/compose-chain.ts).
 */
import type { RequestContext } from "./request-state.js";

/** Continues when it returns nothing or its promise resolves; refuses by throwing. */
export type Check = (ctx: RequestContext) => Promise<void> | undefined;

/** In an object, as anything can be thrown. */
export interface Failure {
  readonly error: unknown;
}

/**
 * Runs once for a request that the step's check let pass, when all steps within it are over.
 * @param failure what they threw
 * @returns what the outer steps get; what it throws takes the place of that
 */
export type Leave = (ctx: RequestContext, failure: Failure | undefined) => Failure | undefined;

export interface RequestStep {
  readonly check: Check;
  readonly leave: Leave | undefined;
}

/** The check of a bracket that only has work behind the others. */
export const passAll: Check = () => undefined;

export function gate(check: Check): RequestStep {
  return { check, leave: undefined };
}

export function bracket(check: Check, leave: Leave): RequestStep {
  return { check, leave };
}
