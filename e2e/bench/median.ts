/** The middle one of some figures; of an even number the mean of the two in the middle, so that two runs favour neither side. */
export function median(values: readonly number[]): number {
  const inOrder = values.toSorted((a, b) => a - b);
  const middle = inOrder.length / 2;
  const [lower = Number.NaN, upper = lower] = inOrder.slice(Math.ceil(middle) - 1, middle + 1);
  return inOrder.length % 2 === 1 ? lower : (lower + upper) / 2;
}
