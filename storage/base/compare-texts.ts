/** The order of two texts by their UTF-16 units, for a list that is sorted by more than its texts. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
