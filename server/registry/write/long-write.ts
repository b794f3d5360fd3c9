/**
 * Long writes: all stages of a write walk the whole object, and with a large one they would hold the thread for
 * all of them together. So a write of a large object ends its turn of the event loop between stages; small ones
 * never wait.
 *
 *     5 KB      decode, own, admit, validate, encode
 *     500 KB    decode | own | admit, validate | encode      each | lets others run
 *
 * A stage that may take long itself is given as Steps, which say where they can be cut.
 */
import { setImmediate } from "node:timers/promises";
import { finishNow, type Steps, takeStepsFor } from "../../../storage/base/steps.js";

/** The request that writes. */
export interface WritingRequest {
  readonly bodyBytes: number;
  /** Bytes that defaults have filled in to what it sent. */
  readonly grownBytes?: number;
  grew?(bytes: number): void;
  /** Resolves in a later turn of the event loop, when it is the request's turn. */
  nextTurn(): Promise<void>;
}

/** Walks of smaller objects take a few milliseconds together. */
export const LONG_BYTES = 64 * 1024;

/** Ends the turn; undefined = the write is short, and goes on in its turn. */
export type Pause = (() => Promise<void>) | undefined;

/** @param currentBytes of the object that is changed */
export function pauseOf(request: WritingRequest | undefined, currentBytes = 0): Pause {
  if (
    request === undefined ||
    Math.max(request.bodyBytes + (request.grownBytes ?? 0), currentBytes) < LONG_BYTES
  ) {
    return undefined;
  }
  return () => request.nextTurn();
}

/** The next stage of a write, in the same turn or in a later one. */
export function nextStage<Made, Result>(
  pause: Pause,
  made: Made,
  stage: (made: Made) => Result | Promise<Result>,
): Result | Promise<Result> {
  return pause === undefined ? stage(made) : pause().then(() => stage(made));
}

/** The steps of a stage in turns of their own, then the next stage. */
export function afterSteps<Made, Result>(
  pause: Pause,
  steps: Steps<Made>,
  stage: (made: Made) => Result | Promise<Result>,
): Result | Promise<Result> {
  return pause === undefined ? stage(finishNow(steps)) : finishInTurns(pause, steps).then(stage);
}

/**
 * The same for steps that may take long with small objects too: those of a short write go on in its turn while they
 * are quick, and the rest has turns of its own.
 */
export function afterCostlySteps<Made, Result>(
  { pause, request, now = performance }: CostlyWrite,
  steps: Steps<Made>,
  stage: (made: Made) => Result | Promise<Result>,
): Result | Promise<Result> {
  if (pause !== undefined) return afterSteps(pause, steps, stage);
  const step = takeStepsFor(steps, STEP_MS_MIN, now);
  if (step.done === true) return stage(step.value);
  // What the server writes itself is no request, and holds the thread as well.
  const nextTurn = () => request?.nextTurn() ?? setImmediate<void>(undefined);
  return finishInTurns(nextTurn, steps).then(stage);
}

export interface CostlyWrite {
  readonly pause: Pause;
  readonly request: WritingRequest | undefined;
  readonly now?: { now(): number };
}

/** Steps that are shorter share a turn. */
export const STEP_MS_MIN = 5;

async function finishInTurns<Made>(pause: () => Promise<void>, steps: Steps<Made>): Promise<Made> {
  for (;;) {
    await pause();
    const step = takeStepsFor(steps, STEP_MS_MIN);
    if (step.done !== true) continue;
    await pause();
    return step.value;
  }
}
