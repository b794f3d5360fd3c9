/** Warnings about labels of nodes that other ones took the place of (R27; pkg/api/node/util.go). */
import type { Naming } from "../../api/naming.js";
import { checkLabelValue } from "../../api/validation-names.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { WarningList } from "../generic/warning-list.js";
import type { NodeSelectorTerm } from "./pod-types.js";

/** By the key in front of the vendor's domain and behind it. */
const REPLACED: readonly (readonly [
  before: string,
  after: string,
  why: (domain: string) => string,
])[] = [
  ["beta.", "/arch", (domain) => `deprecated since v1.14; use "${domain}/arch" instead`],
  ["beta.", "/os", (domain) => `deprecated since v1.14; use "${domain}/os" instead`],
  [
    "failure-domain.beta.",
    "/region",
    (domain) => `deprecated since v1.17; use "topology.${domain}/region" instead`,
  ],
  [
    "failure-domain.beta.",
    "/zone",
    (domain) => `deprecated since v1.17; use "topology.${domain}/zone" instead`,
  ],
  [
    "beta.",
    "/instance-type",
    (domain) => `deprecated since v1.17; use "node.${domain}/instance-type" instead`,
  ],
  ["app.", "/created-by", () => "deprecated since v1.9"],
  [
    "scheduler.alpha.",
    "/preferAvoidPods",
    () => "deprecated since v1.22; use Taints and Tolerations instead",
  ],
  ["node-role.", "/master", (domain) => `use "node-role.${domain}/control-plane" instead`],
];

/** @returns undefined for a label that is in use */
export function whyReplaced(key: string, { labelDomain }: Naming): string | undefined {
  const at = key.indexOf(labelDomain);
  if (at < 0) return undefined;
  const [before, after] = [key.slice(0, at), key.slice(at + labelDomain.length)];
  const row = REPLACED.find((one) => one[0] === before && one[1] === after);
  return row?.[2](labelDomain);
}

/** @param judgesValues whether values that no label can have are told, as nothing refuses them */
export function warnOfTerm(
  { matchExpressions }: NodeSelectorTerm,
  field: string,
  {
    naming,
    warnings,
    judgesValues,
  }: { naming: Naming; warnings: WarningList; judgesValues: boolean },
): void {
  (matchExpressions ?? []).forEach(({ key, values }, index) => {
    const at = `${field}.matchExpressions[${index}]`;
    const why = whyReplaced(key, naming);
    if (why !== undefined) warnings.add(`${at}.key: ${key} is ${why}`);
    if (!judgesValues) return;
    (values ?? []).forEach((value, valueIndex) => {
      for (const message of checkLabelValue(value)) {
        warnings.add(`${at}.values[${valueIndex}]: ${value} is invalid, ${message}`);
      }
    });
  });
}

type Warn = NonNullable<ResourceStrategy["warnings"]>;

/** Runtime classes say the field and not the label. */
export const runtimeClassWarnings: Warn = (next, _current, { naming }) => {
  const { scheduling } = next as { scheduling?: { nodeSelector?: object } };
  const warnings = new WarningList();
  for (const key of Object.keys(scheduling?.nodeSelector ?? {})) {
    const why = whyReplaced(key, naming);
    if (why !== undefined) warnings.add(`scheduling.nodeSelector: ${why}`);
  }
  return warnings.texts;
};

export const storageClassWarnings: Warn = (next, _current, { naming }) => {
  const { allowedTopologies } = next as {
    allowedTopologies?: readonly { matchLabelExpressions?: readonly { key: string }[] }[];
  };
  const warnings = new WarningList();
  (allowedTopologies ?? []).forEach(({ matchLabelExpressions }, index) => {
    (matchLabelExpressions ?? []).forEach(({ key }, at) => {
      const why = whyReplaced(key, naming);
      const field = `allowedTopologies[${index}].matchLabelExpressions[${at}].key`;
      if (why !== undefined) warnings.add(`${field}: ${why}`);
    });
  });
  return warnings.texts;
};

export const storageCapacityWarnings: Warn = (next, _current, { naming }) => {
  const { nodeTopology } = next as {
    nodeTopology?: NodeSelectorTerm & { matchLabels?: Record<string, string> };
  };
  const warnings = new WarningList();
  const how = { naming, warnings, judgesValues: false };
  if (nodeTopology) warnOfTerm(nodeTopology, "nodeTopology", how);
  for (const key of Object.keys(nodeTopology?.matchLabels ?? {})) {
    const why = whyReplaced(key, naming);
    if (why !== undefined) warnings.add(`nodeTopology.matchLabels.${key}: ${why}`);
  }
  return warnings.texts;
};
