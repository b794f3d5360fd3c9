/** By how much an estimate is over what is allowed, as the existing API says it. */
export function budgetFactor(cost: number, max: number): string {
  const excess = cost / max;
  if (excess > 100) return "more than 100x";
  return excess < 1.5 ? `${excess.toFixed(6)}x` : `${excess.toFixed(1)}x`;
}
