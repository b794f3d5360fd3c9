/**
 * An object whose form cannot be made (another version, Protobuf, a table row) is readable JSON that does
 * not fit its kind. This is the only place that turns errors of conversions and encoders into the answer
 * for unreadable objects, for get, list, watch and write answers alike.
 */
import type { Steps } from "../../../storage/base/steps.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { StatusError, unreadableObjects } from "../../api/status.js";
import type { Representation, StepwiseEncoding } from "../representation.js";

/** @returns a representation that throws 500 alone: StoreReadError for an object that is not of its kind */
export function readableOnly(made: Representation): Representation {
  // Bytes sent as stored cannot fail.
  if (made.isStoredForm) return made;
  const { itemBytes, inSteps } = made;
  return {
    ...made,
    putObject: (out, object) => read(object, () => made.putObject(out, object)),
    putItem: (out, object, isFirst) => read(object, () => made.putItem(out, object, isFirst)),
    putEvent: (out, type, object, isFirst) =>
      read(object, () => made.putEvent(out, type, object, isFirst)),
    ...(itemBytes === undefined
      ? {}
      : { itemBytes: (object: StoredObject) => read(object, () => itemBytes(object)) }),
    ...(inSteps !== undefined && {
      inSteps: {
        ...inSteps,
        putObject: (out, object) => readSteps(object, inSteps.putObject(out, object)),
        putItem: (out, object, isFirst) => readSteps(object, inSteps.putItem(out, object, isFirst)),
      } satisfies StepwiseEncoding,
    }),
  };
}

function read<T>(object: StoredObject, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw told(object, error);
  }
}

function* readSteps(object: StoredObject, steps: Steps<void>): Steps<void> {
  try {
    yield* steps;
  } catch (error) {
    throw told(object, error);
  }
}

function told({ path }: StoredObject, error: unknown): unknown {
  return isToldAlready(error) ? error : unreadableObjects([path], error);
}

/** A conversion says by itself that a readable object has no such form: no scale without replicas, or with a text. */
function isToldAlready(error: unknown): boolean {
  return error instanceof StatusError && error.code === 500;
}
