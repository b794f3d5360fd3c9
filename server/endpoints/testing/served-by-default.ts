/**
 * The served resources for tests of discovery and OpenAPI: those that are on by default, in a vendor's
 * names, implemented or not. For tests only.
 */
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import { resourceName } from "../../kinds/catalog.js";
import type { Facts, ResourceFact } from "../../schema/model.js";
import { loadFacts } from "../../types/load-facts.js";
import type { ServedGroup, ServedGroupVersion, ServedResources } from "../discovery/served.js";
import type { OpenApiSource } from "../openapi/documents.js";

export function servedByDefault(
  vendor = DEFAULT_VENDOR,
  isServed: (fact: ResourceFact) => boolean = () => true,
): ServedResources & Pick<Facts, "defaults"> & Pick<OpenApiSource, "builtIn"> {
  return servedFacts(vendor, (fact) => fact.onByDefault && isServed(fact));
}

/** Any selection of the facts, including what is off by default. */
export function servedFacts(
  vendor: string,
  isServed: (fact: ResourceFact) => boolean,
): ServedResources & Pick<Facts, "defaults"> & Pick<OpenApiSource, "builtIn"> {
  const naming = createNaming(vendor);
  const { model, resources, groupVersions, defaults } = loadFacts(naming);
  const served = resources.filter(isServed);
  const groups = new Map<string, ServedGroupVersion[]>();
  for (const { group, version } of groupVersions) {
    const facts = served
      .filter((fact) => fact.group === group && fact.version === version)
      .sort((a, b) => (resourceName(a) < resourceName(b) ? -1 : 1));
    if (facts.length === 0) continue;
    groups.set(group, [...(groups.get(group) ?? []), { group, version, resources: [], facts }]);
  }
  const current = {
    groups: [...groups].map(([name, versions]): ServedGroup => ({ name, versions })),
  };
  const builtIn = current.groups.flatMap(({ versions }) => versions);
  return { naming, model, catalog: { current }, builtIn, defaults };
}
