/**
 * Which resources admission policies have no say about, by `--admission-policy-exclusions`: `group/resource`,
 * or `resource` alone for one of the core group. Custom resources may be named before they are defined.
 */
import type { Naming } from "../api/naming.js";
import { checkDns1035Label, checkDnsSubdomain } from "../api/validation-names.js";
import type { Facts } from "../schema/model.js";

export interface ExcludedResource {
  readonly group: string;
  readonly resource: string;
}

/** @throws {RangeError} naming the first that stands for nothing, or that must stay judged */
export function toExcludedResources(
  texts: readonly string[],
  { resources }: Pick<Facts, "resources">,
  { groupDomain }: Naming,
): readonly ExcludedResource[] {
  return texts.map((text) => {
    const refuse = (why: string) =>
      new RangeError(`--admission-policy-exclusions: ${JSON.stringify(text)} ${why}`);
    const [first = "", second, ...rest] = text.split("/");
    const [group, resource] = second === undefined ? ["", first] : [first, second];
    const isGroup = group === "" || checkDnsSubdomain(group).length === 0;
    if (rest.length > 0 || !isGroup || checkDns1035Label(resource).length > 0) {
      throw refuse("is not group/resource, such as apps/deployments, or configmaps");
    }
    if (group === `admissionregistration.${groupDomain}`) {
      throw refuse("are rules themselves: only rules from files judge them, which protect them");
    }
    const ofGroup = resources.filter((fact) => fact.group === group);
    const names = ofGroup.filter((fact) => fact.subresource === "").map((fact) => fact.resource);
    if (ofGroup.length > 0 && !names.includes(resource)) {
      const known = [...new Set(names)].sort().join(", ");
      throw refuse(`is not there; the group has ${known}`);
    }
    return { group, resource };
  });
}
