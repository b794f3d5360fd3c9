/**
 * LiveRows: the rows of a table in the order of namespace and name, kept in step with a list and its watch. A
 * change costs a search and, where the row is new, a move of the rows behind it.
 */

export interface Row {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** As texts, one for each column. */
  readonly cells: readonly string[];
  /** Milliseconds of 1970; 0 = not said. */
  readonly createdAtMs: number;
  /** When a watch brought it last; 0 = it has not moved since it was listed. */
  readonly movedAtMs: number;
}

export class LiveRows {
  #rows: Row[] = [];
  /** How many changes a watch has brought. */
  changes = 0;

  get all(): readonly Row[] {
    return this.#rows;
  }

  clear(): void {
    this.#rows = [];
  }

  /** Replaces the row of this name. */
  put(row: Row): void {
    const at = this.#placeOf(row);
    const known = this.#rows[at];
    if (known !== undefined && compare(known, row) === 0) this.#rows[at] = row;
    else this.#rows.splice(at, 0, row);
  }

  remove(row: Pick<Row, "namespace" | "name">): void {
    const at = this.#placeOf(row);
    const known = this.#rows[at];
    if (known !== undefined && compare(known, row) === 0) this.#rows.splice(at, 1);
  }

  /**
   * Those that have the text in their name, namespace or a cell. A list of its own: what is drawn from it again has the
   * columns that were known with it.
   */
  matching(text: string): readonly Row[] {
    if (text === "") return [...this.#rows];
    const wanted = text.toLowerCase();
    return this.#rows.filter(
      ({ namespace, name, cells }) =>
        name.includes(wanted) ||
        namespace.includes(wanted) ||
        cells.some((cell) => cell.toLowerCase().includes(wanted)),
    );
  }

  /** The first place whose row is not before this one. Lists come in order: the end is looked at first. */
  #placeOf(row: Pick<Row, "namespace" | "name">): number {
    const last = this.#rows.at(-1);
    if (last === undefined || compare(last, row) < 0) return this.#rows.length;
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = this.#rows[middle];
      if (there !== undefined && compare(there, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function compare(a: Pick<Row, "namespace" | "name">, b: Pick<Row, "namespace" | "name">): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}
