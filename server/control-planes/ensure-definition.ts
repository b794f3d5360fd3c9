/** Makes the definition of the kind ControlPlane, and brings an older one up to this release. */
import { deepEqual } from "../api/deep-equal.js";
import type { Naming } from "../api/naming.js";
import { untilDone } from "../controllers/lost-race.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import { controlPlaneDefinition } from "./definition.js";

/** Idempotent, and safe with several replicas starting at once. @throws {StatusError} */
export async function ensureDefinition(
  objects: ObjectsApi,
  naming: Naming,
  signal: AbortSignal,
): Promise<void> {
  const wanted = controlPlaneDefinition(naming);
  const resource = objects.resource(
    `apiextensions.${naming.groupDomain}`,
    "customresourcedefinitions",
  );
  const { name = "" } = wanted.metadata;
  await untilDone(
    objects,
    async () => {
      const found = objects.get(resource, { namespace: "", name });
      if (found === undefined) {
        await objects.create(resource, wanted, signal);
        return;
      }
      const versions = versionsOf(wanted);
      if (deepEqual(versionsOf(found), versions)) return;
      const spec = { ...(found as { spec?: object }).spec, versions };
      await objects.update(resource, { ...found, spec } as typeof found, "", signal);
    },
    signal,
  );
  await objects.refresh();
}

function versionsOf(definition: object): unknown {
  return (definition as { readonly spec?: { readonly versions?: unknown } }).spec?.versions;
}
