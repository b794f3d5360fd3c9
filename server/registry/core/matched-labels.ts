/**
 * What `matchLabelKeys` and `mismatchLabelKeys` mean for a new pod: the values of its own labels, written into the label
 * selectors beside them, where they stay whatever becomes of the labels (R22).
 *
 *   matchLabelKeys: [version], labels: {version: v2}    labelSelector.matchExpressions: [{version In [v2]}]
 */
import type { LabelSelector } from "../../api/validation-selectors.js";
import type { Maybe } from "../../api/validation-values.js";
import type { PodSpec } from "./pod-types.js";

type Labels = Readonly<Record<string, string>>;

interface Chooser {
  readonly labelSelector?: Maybe<LabelSelector>;
  readonly matchLabelKeys?: Maybe<readonly string[]>;
  readonly mismatchLabelKeys?: Maybe<readonly string[]>;
}

/** Changes the specification of a new pod. */
export function fillInMatchedLabels(
  { affinity, topologySpreadConstraints }: PodSpec,
  labels: Labels,
): void {
  for (const part of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const one of part?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      fillIn(one.podAffinityTerm, labels);
    }
    for (const one of part?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      fillIn(one, labels);
    }
  }
  for (const one of topologySpreadConstraints ?? []) fillIn(one, labels);
}

function fillIn(chooser: Chooser, labels: Labels): void {
  const { labelSelector, matchLabelKeys, mismatchLabelKeys } = chooser;
  // No selector chooses no pod, which keys do not change.
  if (!labelSelector) return;
  const added = [
    ...requirements(matchLabelKeys ?? [], "In", labels),
    ...requirements(mismatchLabelKeys ?? [], "NotIn", labels),
  ];
  if (added.length === 0) return;
  const matchExpressions = [...(labelSelector.matchExpressions ?? []), ...added];
  Object.assign(chooser, { labelSelector: { ...labelSelector, matchExpressions } });
}

function requirements(keys: readonly string[], operator: "In" | "NotIn", labels: Labels) {
  return keys
    .filter((key) => Object.hasOwn(labels, key))
    .map((key) => ({ key, operator, values: [labels[key] ?? ""] }));
}
