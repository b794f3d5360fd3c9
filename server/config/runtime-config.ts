/**
 * Which resources of the facts are served, by `--runtime-config` (S2-VERS-06). Keys are looked up
 * from the most particular to the most general: a resource, its group-version, its stage, all.
 */
import { formatGroupVersion } from "../api/names.js";
import type { Facts, ResourceFact } from "../schema/model.js";

export type RuntimeConfig = ReadonlyMap<string, boolean>;

/** Keys that stand for many versions. */
export const GENERAL_KEYS: readonly string[] = ["api/all", "api/ga", "api/beta", "api/alpha"];

/**
 * The predicate that the flag describes.
 * @param elects whether this process takes part in the election of the control loops
 * @throws {RangeError} naming the first key that stands for nothing, or what the server cannot do without
 */
export function enabledResources(
  config: RuntimeConfig,
  facts: Facts,
  elects = false,
): (fact: ResourceFact) => boolean {
  const stages = new Map(facts.groupVersions.map((gv) => [formatGroupVersion(gv), gv.stability]));
  const keys = new Map<string, boolean>();
  for (const [key, isOn] of config) {
    // The core group-version may be written "v1" or "api/v1".
    const name = key.replace(/^api\/(v\d)/, "$1");
    if (!isKnown(name, facts)) {
      const known = [...GENERAL_KEYS, ...stages.keys()].sort().join(", ");
      throw new RangeError(
        `--runtime-config: unknown key ${JSON.stringify(key)}; known are ${known}, and "version/resource" for one of a version's resources`,
      );
    }
    keys.set(name, isOn);
  }
  const isEnabled = (fact: ResourceFact): boolean => {
    const version = formatGroupVersion(fact);
    return (
      keys.get(`${version}/${fact.resource}`) ??
      keys.get(version) ??
      keys.get(`api/${stages.get(version) ?? "ga"}`) ??
      keys.get("api/all") ??
      fact.onByDefault
    );
  };
  const isServed = (inGroup: (group: string) => boolean, plural: string) =>
    facts.resources.some(
      (fact) =>
        inGroup(fact.group) &&
        fact.resource === plural &&
        fact.subresource === "" &&
        isEnabled(fact),
    );
  if (!isServed((group) => group === "", "namespaces")) {
    throw new RangeError(
      "--runtime-config: v1/namespaces cannot be turned off, as every object that is in one depends on it",
    );
  }
  if (elects && !isServed((group) => group.startsWith("coordination."), "leases")) {
    throw new RangeError(
      "--runtime-config: leases cannot be turned off in a process that runs control loops (--run-controllers), as a Lease says who leads",
    );
  }
  return isEnabled;
}

function isKnown(key: string, facts: Facts): boolean {
  return (
    GENERAL_KEYS.includes(key) ||
    facts.resources.some((fact) => {
      const version = formatGroupVersion(fact);
      return key === version || key === `${version}/${fact.resource}`;
    })
  );
}
