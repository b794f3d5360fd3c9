/**
 * Steps: work that can be cut. It yields where others may have the thread, and whoever runs it decides: at once
 * for a small object, in several turns of the event loop for a large one. It gives nothing until it is done.
 *
 *     function* sortAll(lists) { for (const list of lists) { list.sort(); yield; } }
 */

/** What is done between two yields has to be short, or cannot be cut. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Members and items that are looked at in one step, where little is done with each. */
export const STRETCH = 500;

/** Takes all steps in this turn. */
export function finishNow<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Takes steps until so many milliseconds have passed, one at least. @returns the last one */
export function takeStepsFor<Result>(
  steps: Steps<Result>,
  ms: number,
  clock: { now(): number } = performance,
): IteratorResult<undefined, Result> {
  const sinceMs = clock.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true || clock.now() - sinceMs >= ms) return step;
  }
}

/** Work of one step. */
// biome-ignore lint/correctness/useYield: there is nothing to cut
export function* oneStep<Result>(result: Result): Steps<Result> {
  return result;
}
