/**
 * The served resources that the tests of discovery and OpenAPI work on: those that are on by default,
 * in the names of a vendor. For tests only.
 */
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import type { Facts, ResourceFact } from "../../schema/model.js";
import { loadFacts } from "../../types/load-facts.js";
import type { ServedResources } from "../discovery/served.js";

export function servedByDefault(
  vendor = DEFAULT_VENDOR,
  isServed: (fact: ResourceFact) => boolean = () => true,
): ServedResources & Pick<Facts, "defaults"> {
  const naming = createNaming(vendor);
  const { model, resources, groupVersions, defaults } = loadFacts(naming);
  const served = resources.filter((fact) => fact.onByDefault && isServed(fact));
  return { naming, model, resources: served, groupVersions, defaults };
}
