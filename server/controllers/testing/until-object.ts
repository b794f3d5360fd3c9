/** Waiting in tests for what a control loop does, one event of the view at a time. */
import type { ApiObject } from "../../api/meta.js";
import type { Registry } from "../../registry/generic/registry.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "../objects-api.js";

const DEADLINE_MS = 10_000;

/** The object as soon as it is as wanted. @throws {Error} when it never is */
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
