/** Converts objects to the served version before a reader shows them (kinds/conversion.ts). */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { isOwnShape, mainOf, type StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";

/** Objects converted per call, whatever the page size. */
export const PREPARED_MAX = 500;

/** @returns undefined if there is nothing to wait for, as nearly always. @throws {StatusError} 500 */
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

/** undefined = every object can be shown at once. */
export function remoteOf(resource: StoredResource) {
  return (isOwnShape(resource) ? mainOf(resource) : resource).conversion?.remote;
}
