/**
 * Long pieces: large objects in an encoding that takes long are written in steps, so that none of them holds the
 * thread. Small objects, and all objects in other encodings, are put at once.
 */
import type { Steps } from "../../storage/base/steps.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { LONG_BYTES, STEP_MS_MIN } from "../registry/write/long-write.js";
import type { Representation, StepwiseEncoding } from "./representation.js";

/** How to write an object in steps; undefined = it is put at once. */
export function stepwise(
  { inSteps }: Representation,
  { length }: Pick<StoredObject, "length">,
): StepwiseEncoding | undefined {
  return length < LONG_BYTES ? undefined : inSteps;
}

/**
 * Takes the steps in turns of the event loop.
 * @param isFull whether what is written so far is enough to be sent: spaces by the megabyte take no time
 * @param pause ends the turn, and may send what is written so far; false = nobody wants more
 * @returns false if nobody wants more
 */
export async function putInTurns(
  steps: Steps<void>,
  isFull: () => boolean,
  pause: () => Promise<boolean>,
): Promise<boolean> {
  for (;;) {
    if (!(await pause())) return false;
    const sinceMs = performance.now();
    do {
      if (steps.next().done === true) return true;
    } while (!isFull() && performance.now() - sinceMs < STEP_MS_MIN);
  }
}
