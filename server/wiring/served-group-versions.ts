/** The group-versions that this server itself serves, with the precedence that their APIServices state. */
import type { LocalGroupVersion } from "../controllers/api-service-loop.js";
import type { Catalog } from "../kinds/catalog.js";
import type { Facts } from "../schema/model.js";

/** Of custom kinds, as upstream has them. */
const CUSTOM_GROUP_PRIORITY = 1_000;
const CUSTOM_VERSION_PRIORITY = 100;

export function servedGroupVersions(
  catalog: Catalog,
  { groupVersions }: Facts,
): LocalGroupVersion[] {
  return catalog.groups.flatMap(({ versions }) =>
    versions.map(({ group, version, resources }) => {
      const fact = groupVersions.find((one) => one.group === group && one.version === version);
      const isCustom = resources.every((one) => one.form === "main" && one.isCustom);
      return {
        group,
        version,
        groupPriority: fact?.groupPriority ?? CUSTOM_GROUP_PRIORITY,
        versionPriority: fact?.versionPriority ?? CUSTOM_VERSION_PRIORITY,
        isCustom,
      };
    }),
  );
}
