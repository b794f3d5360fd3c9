/** Tolerations of pods: merging and coverage, as upstream does it. */
import { deepEqual } from "../api/deep-equal.js";

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
