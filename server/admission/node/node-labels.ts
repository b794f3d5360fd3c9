/**
 * Which labels of its own Node object a node may set. Pure. Labels steer pods to nodes, so a node may not
 * give itself the labels that privileged pods select.
 */

import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";

/** Forbidden labels that the change adds, changes or removes, sorted. */
export function forbiddenLabelChanges(
  naming: Naming,
  next: ApiObject,
  before: ApiObject | undefined,
): string[] {
  const [after = {}, known = {}] = [next.metadata.labels, before?.metadata.labels];
  const changed = [...new Set([...Object.keys(after), ...Object.keys(known)])].filter(
    (label) => after[label] !== known[label],
  );
  return changed.filter((label) => isForbidden(naming, label)).sort();
}

function isForbidden({ labelDomain, groupDomain }: Naming, label: string): boolean {
  const slash = label.indexOf("/");
  const domain = slash < 0 ? "" : label.slice(0, slash);
  const within = (parent: string) => domain === parent || domain.endsWith(`.${parent}`);
  if (within(`node-restriction.${labelDomain}`)) return true;
  if (!within(labelDomain) && !within(groupDomain)) return false;
  if (within(`kubelet.${labelDomain}`) || within(`node.${labelDomain}`)) return false;
  return ![
    `${labelDomain}/hostname`,
    `${labelDomain}/os`,
    `${labelDomain}/arch`,
    `topology.${labelDomain}/zone`,
    `topology.${labelDomain}/region`,
    `failure-domain.beta.${labelDomain}/zone`,
    `failure-domain.beta.${labelDomain}/region`,
    `beta.${labelDomain}/instance-type`,
    `beta.${labelDomain}/os`,
    `beta.${labelDomain}/arch`,
  ].includes(label);
}
