/** The group-versions that this server serves itself, with the priorities for their APIServices. */
import type { Precedence } from "../aggregation/served-groups.js";
import type { GroupVersion } from "../api/names.js";
import type { LocalGroupVersion } from "../controllers/api-service-loop.js";
import type { Catalog } from "../kinds/catalog.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import { remembered } from "../kinds/remembered.js";
import type { Facts } from "../schema/model.js";

/** For custom kinds, as kube-apiserver. */
const CUSTOM_GROUP_PRIORITY = 1_000;
const CUSTOM_VERSION_PRIORITY = 100;

/** For groups that are always listed first: core, and that of APIServices, which has none itself. */
const FIRST = { groupPriority: Number.POSITIVE_INFINITY, versionPriority: 0 };

/** The priorities of a group-version that this server serves. */
export function precedenceOf(
  { group, version }: GroupVersion,
  { groupVersions }: Facts,
): Precedence {
  const fact = groupVersions.find((one) => one.group === group && one.version === version);
  if (fact !== undefined && (group === "" || fact.groupPriority === undefined)) return FIRST;
  return {
    groupPriority: fact?.groupPriority ?? CUSTOM_GROUP_PRIORITY,
    versionPriority: fact?.versionPriority ?? CUSTOM_VERSION_PRIORITY,
  };
}

/** @returns the served group-versions with an APIService; the same value while the catalog is the same */
export function servedGroupVersions(
  catalog: CatalogSource,
  facts: Facts,
): () => readonly LocalGroupVersion[] {
  const known = new WeakMap<Catalog, readonly LocalGroupVersion[]>();
  return () => remembered(known, catalog.current, () => groupVersionsOf(catalog.current, facts));
}

function groupVersionsOf(
  { groups }: Catalog,
  { groupVersions }: Facts,
): readonly LocalGroupVersion[] {
  return groups.flatMap(({ versions }) =>
    versions.flatMap(({ group, version, resources }) => {
      const fact = groupVersions.find((one) => one.group === group && one.version === version);
      if (fact !== undefined && fact.groupPriority === undefined) return [];
      const isCustom = resources.every((one) => one.form === "main" && one.isCustom);
      return [
        {
          group,
          version,
          groupPriority: fact?.groupPriority ?? CUSTOM_GROUP_PRIORITY,
          versionPriority: fact?.versionPriority ?? CUSTOM_VERSION_PRIORITY,
          isCustom,
        },
      ];
    }),
  );
}
