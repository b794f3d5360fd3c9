/** Changes that leave what an object says as it is. */
import { deepEqual } from "./deep-equal.js";
import type { ApiObject } from "./meta.js";

/** Whether nothing differs but what garbage collection and the server itself maintain. */
export function isUpkeep(next: ApiObject, current: ApiObject): boolean {
  return deepEqual(withoutUpkeep(next), withoutUpkeep(current));
}

function withoutUpkeep({ metadata, ...object }: ApiObject): Record<string, unknown> {
  const { ownerReferences, finalizers, managedFields, resourceVersion, generation, ...rest } =
    metadata;
  return { ...object, metadata: rest };
}
