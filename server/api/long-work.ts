/**
 * LongWork: what rules leave for later turns of the event loop. A rule looks at one item of a list after the other; where
 * the object is large and the list long, it leaves the items here, and whoever asked the rule looks at them in steps. So a rule is
 * written as for any list, and cannot hold the thread. What is left is always done: it is given to who asked, and not to the rule.
 *
 *     eachItem(spec.ports, use, (port, index, errors) => ...)      at once, or 100 ports in each step
 */
import type { Steps } from "../../storage/base/steps.js";
import { collectProblems, Problems } from "./problems.js";
import type { FieldError } from "./status.js";

/** Items that are looked at in one step; shorter lists are not left. */
export const STRETCH = 100;

/** Adds what it finds to the list that it is given. */
type Work = (errors: FieldError[]) => Steps<void>;

export class LongWork {
  /** Whether the object is large. Of small ones only that is left which their size does not bound. */
  readonly isOfLarge: boolean;
  readonly #left: Work[] = [];

  constructor(isOfLarge = true) {
    this.isOfLarge = isOfLarge;
  }

  leave(work: Work): void {
    this.#left.push(work);
  }

  /** Does what was left, and what that leaves. @returns what it found, until the list of problems is full */
  *finish(): Steps<readonly FieldError[]> {
    const errors = new Problems();
    for (const work of this.#left) {
      const steps = work(errors);
      for (;;) {
        const found = collectProblems(() => (steps.next().done === true ? DONE : MORE));
        if (found === DONE) break;
        if (found !== MORE) return found;
        yield;
      }
    }
    return errors;
  }
}

const DONE = new Problems();
const MORE = new Problems();

export interface RuleUse {
  readonly errors: FieldError[];
  /** Absent = everything is looked at at once. */
  readonly long?: LongWork | undefined;
}

/** @param look adds what it finds to the list that it is given, and leaves nothing for the rules behind it */
export function eachItem<Item>(
  items: readonly Item[],
  { errors, long }: RuleUse,
  look: (item: Item, index: number, errors: FieldError[]) => void,
): void {
  if (long?.isOfLarge !== true || items.length <= STRETCH) {
    items.forEach((item, index) => {
      look(item, index, errors);
    });
    return;
  }
  long.leave(function* (found) {
    for (const [index, item] of items.entries()) {
      if (index % STRETCH === STRETCH - 1) yield;
      look(item, index, found);
    }
  });
}

/** The same for the members of a map. */
export function eachMember(
  members: Readonly<Record<string, string>>,
  use: RuleUse,
  look: (key: string, value: string, errors: FieldError[]) => void,
): void {
  if (use.long?.isOfLarge !== true) {
    for (const key in members) look(key, members[key] ?? "", use.errors);
    return;
  }
  eachItem(Object.keys(members), use, (key, _index, errors) => {
    look(key, members[key] ?? "", errors);
  });
}
