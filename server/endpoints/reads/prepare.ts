/** What a reader shows has to be there in the served version before it is put (kinds/conversion.ts). */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { isOwnShape, mainOf, type StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";

/** Objects that are converted in one call: a page of a list, however long it is. */
export const PREPARED_MAX = 500;

/** @returns undefined where nothing has to be waited for, as nearly always. @throws {StatusError} 500 */
export function prepareObjects(
  resource: StoredResource,
  objects: readonly StoredObject[],
  signal: SignalSource,
): Promise<void> | undefined {
  const remote = remoteOf(resource);
  if (remote === undefined) return undefined;
  const missing = objects.filter((object) => !remote.isReady(object));
  return missing.length === 0 ? undefined : remote.prepare(missing, signalOf(signal));
}

/** undefined: whatever is read can be shown at once. */
export function remoteOf(resource: StoredResource) {
  return (isOwnShape(resource) ? mainOf(resource) : resource).conversion?.remote;
}
