/** Waits in tests for the effects of a control loop, checking at each event of the view. */
import { soon } from "../../../e2e/harness/eventually.js";
import type { ApiObject } from "../../api/meta.js";
import type { Registry } from "../../registry/registry.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "../objects-api.js";

/** Resolves with the object once it satisfies the condition. @throws {Error} at the deadline */
export async function untilObject(
  registry: Registry,
  objects: ObjectsApi,
  resource: ControlledResource,
  key: ObjectKey,
  isRight: (object: ApiObject | undefined) => boolean,
): Promise<ApiObject | undefined> {
  return await untilSeen(registry, () => {
    const object = objects.get(resource, key);
    return isRight(object) && { object };
  }).then(({ object }) => object);
}

/** Resolves with what `look` sees once it sees something. @throws {Error} at the deadline */
export async function untilSeen<T>(
  { view }: Pick<Registry, "view">,
  look: () => T | false | undefined,
): Promise<T> {
  const deadline = soon();
  // Our own timers do not keep a process alive.
  const alive = setInterval(() => {}, 1_000);
  try {
    for (;;) {
      const seen = look();
      if (seen !== undefined && seen !== false) return seen;
      await view.waitForRevision((view.revision + 1) as typeof view.revision, deadline);
    }
  } finally {
    clearInterval(alive);
  }
}
