/**
 * Warnings about one object, found up to a bound: clients show a few, and headers hold little more. What compares
 * items with one another asks `spend` for each comparison, so that a long list costs no square of its length.
 */
const WARNINGS_MAX = 100;
const COMPARISONS_MAX = 20_000;
/** To compare longer texts counts more. */
const CHARS_OF_ONE = 128;

export class WarningList {
  readonly texts: string[] = [];
  #comparisons = COMPARISONS_MAX;

  /** Whether enough was found: nothing has to be looked at any more. */
  get isFull(): boolean {
    return this.texts.length >= WARNINGS_MAX;
  }

  add(text: string): void {
    if (!this.isFull) this.texts.push(text);
  }

  /**
   * Whether another comparison may be made: false when enough were made, or enough was found.
   * @param chars of the shorter text, where texts are compared
   */
  spend(chars = 0): boolean {
    this.#comparisons -= 1 + Math.floor(chars / CHARS_OF_ONE);
    return this.#comparisons >= 0 && !this.isFull;
  }
}
