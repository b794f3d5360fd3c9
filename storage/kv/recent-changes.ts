/**
 * RecentChanges: which keys of each part of a store changed lately, without their values, so that who loads a part can
 * read exactly what happened there before, and nothing when nothing did.
 *
 *     part 7c   floor 4021: core/configmaps/default/a @4100, core/configmaps/default/b @4107
 *     others    floor 3988: nothing since
 *
 * A part with many changes loses its oldest, and beyond the bound of all of them the part that was quiet for longest is
 * forgotten: its floor is the common one then. The caller shows every change, in order.
 */
import type { Revision } from "./store.js";

export interface RecentChange {
  readonly key: string;
  readonly revision: Revision;
  readonly isDeletion: boolean;
}

interface PartChanges {
  /** No change after it is missing. */
  floor: Revision;
  changes: RecentChange[];
}

/** More are read from the store's history at once. What a part begins with is more. */
const CHANGES_PER_PART_MAX = 64;
/** Of a part that has too many; some at a time, as each time moves the others. */
const FORGOTTEN_AT_ONCE = 32;
/** About two MiB: a hundred writes a second for more than the minute in which a quiet watch gets a bookmark. */
const CHANGES_MAX = 10_000;
/** Those of which only the floor is known count, too. */
const PARTS_MAX = 10_000;

export class RecentChanges {
  /** Of all parts of which nothing is kept. */
  #floor = 0 as Revision;
  /** Those that changed last come last. */
  readonly #parts = new Map<string, PartChanges>();
  #count = 0;

  /** Changes up to `revision` are not known any more. */
  reset(revision: Revision): void {
    this.#parts.clear();
    this.#count = 0;
    this.#floor = revision;
  }

  saw(part: string, change: RecentChange): void {
    const known = this.#parts.get(part) ?? { floor: this.#floor, changes: [] };
    this.#parts.delete(part);
    this.#parts.set(part, known);
    // The rest of a revision that was cut in two is of no use: what a control plane begins with leaves nothing here.
    if (change.revision > known.floor) {
      known.changes.push(change);
      this.#count++;
    }
    if (known.changes.length > CHANGES_PER_PART_MAX) {
      const before = known.changes.length;
      known.floor = known.changes[FORGOTTEN_AT_ONCE - 1]?.revision ?? known.floor;
      known.changes = known.changes.filter(({ revision }) => revision > known.floor);
      this.#count -= before - known.changes.length;
    }
    while (this.#count > CHANGES_MAX || this.#parts.size > PARTS_MAX) this.#forgetOne();
  }

  /** What changed in a part after a revision, in order; undefined = that is not known. */
  since(part: string, after: Revision): readonly RecentChange[] | undefined {
    const { floor, changes } = this.#parts.get(part) ?? { floor: this.#floor, changes: [] };
    if (after < floor) return undefined;
    return changes.filter(({ revision }) => revision > after);
  }

  #forgetOne(): void {
    const [[part, { changes, floor }] = ["", { changes: [], floor: this.#floor }]] = this.#parts;
    this.#parts.delete(part);
    this.#count -= changes.length;
    // Never back: of a part that is forgotten twice nothing in between may be missing.
    this.#floor = Math.max(this.#floor, changes.at(-1)?.revision ?? floor) as Revision;
  }
}
