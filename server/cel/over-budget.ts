/** By how much an estimate exceeds the limit, in kube-apiserver's words. */
export function budgetFactor(cost: number, max: number): string {
  const excess = cost / max;
  if (excess > 100) return "more than 100x";
  return excess < 1.5 ? `${excess.toFixed(6)}x` : `${excess.toFixed(1)}x`;
}
