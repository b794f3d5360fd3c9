/**
 * Warnings about one object, found up to a bound: clients show a few, and headers hold little more. What compares
 * items with one another asks `spend` for each comparison, so that a long list costs no square of its length.
 */
const WARNINGS_MAX = 100;
const COMPARISONS_MAX = 20_000;

export class WarningList {
  readonly texts: string[] = [];
  #comparisons = COMPARISONS_MAX;

  add(text: string): void {
    if (this.texts.length < WARNINGS_MAX) this.texts.push(text);
  }

  /** Whether another comparison may be made: false when enough were made, or enough was found. */
  spend(): boolean {
    this.#comparisons--;
    return this.#comparisons >= 0 && this.texts.length < WARNINGS_MAX;
  }
}
