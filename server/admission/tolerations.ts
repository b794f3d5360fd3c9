/** Tolerations of pods: merging and coverage, as kube-apiserver does it. */
import { deepEqual } from "../api/deep-equal.js";
import { repeats } from "../api/validation-values.js";

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number | null;
}

/** The first list, then the tolerations of the second that it does not cover. */
export function mergeTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
): Toleration[] {
  const all = [...first, ...second];
  if (all.length > COMPARED_MAX) return withoutRepeated(all);
  const merged: Toleration[] = [];
  all.forEach((toleration, index) => {
    if (merged.some((kept) => coversToleration(kept, toleration))) return;
    const isCoveredLater = all
      .slice(index + 1)
      .some((later) => !deepEqual(later, toleration) && coversToleration(later, toleration));
    if (!isCoveredLater) merged.push(toleration);
  });
  return merged;
}

/** Of more, each is not compared with all others: one that another covers does no harm. */
const COMPARED_MAX = 500;

function withoutRepeated(all: readonly Toleration[]): Toleration[] {
  const isRepeated = repeats();
  return all.filter(
    ({ key = "", operator = "", value = "", effect = "", tolerationSeconds = null }) =>
      !isRepeated(JSON.stringify([key, operator, value, effect, tolerationSeconds])),
  );
}

/** Whether `outer` tolerates everything that `inner` does. */
export function coversToleration(outer: Toleration, inner: Toleration): boolean {
  if (deepEqual(outer, inner)) return true;
  if ((outer.key ?? "") !== "" && outer.key !== inner.key) return false;
  // An empty key with Exists matches all keys; an empty effect matches all effects.
  if ((outer.effect ?? "") !== "" && outer.effect !== inner.effect) return false;
  if ((outer.effect ?? "") === "NoExecute" && !lastsAsLong(outer, inner)) return false;
  if ((outer.operator ?? "") === "Exists") return true;
  return (
    (outer.operator || "Equal") === (inner.operator || "Equal") &&
    (outer.value ?? "") === (inner.value ?? "")
  );
}

function lastsAsLong(outer: Toleration, inner: Toleration): boolean {
  const seconds = ({ tolerationSeconds }: Toleration) =>
    tolerationSeconds ?? Number.POSITIVE_INFINITY;
  return seconds(outer) >= seconds(inner);
}
