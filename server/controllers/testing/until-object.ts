/** Waits in tests for the effects of a control loop, checking at each event of the view. */
import type { ApiObject } from "../../api/meta.js";
import type { Registry } from "../../registry/registry.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "../objects-api.js";

const DEADLINE_MS = 10_000;

/** Resolves with the object once it satisfies the condition. @throws {Error} at the deadline */
export async function untilObject(
  { view }: Registry,
  objects: ObjectsApi,
  resource: ControlledResource,
  key: ObjectKey,
  isRight: (object: ApiObject | undefined) => boolean,
): Promise<ApiObject | undefined> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  // Our own timers do not keep a process alive.
  const alive = setInterval(() => {}, 1_000);
  try {
    for (;;) {
      const found = objects.get(resource, key);
      if (isRight(found)) return found;
      await view.waitForRevision((view.revision + 1) as typeof view.revision, deadline);
    }
  } finally {
    clearInterval(alive);
  }
}
