/**
 * What an object is refused for, in one list: what the facts alone find, what is wrong with the
 * metadata, and what the rules written by hand for its type say, which know best what to say of a
 * field. Clients see one cause for one mistake, in the order in which the existing API reports them:
 * metadata first, and the items of a list one after the other.
 */
import { CAUSES_MAX, type FieldError } from "../../api/status.js";

export interface Problems {
  /** Required fields and closed sets of values (`server/schema/checks.ts`). */
  readonly facts: readonly FieldError[];
  readonly metadata: readonly FieldError[];
  /** What the strategy says. */
  readonly own: readonly FieldError[];
  /** Fields of which only the strategy tells, under paths of its own. */
  readonly ownFields?: RegExp | undefined;
}

/** Above this many comparisons of paths the order of items is nobody's concern any more. */
const COMPARISONS_MAX = 10_000;

export function joinProblems(problems: Problems): FieldError[] {
  const { metadata, ownFields } = problems;
  const known = ownFields && problems.facts.filter(({ field }) => !ownFields.test(field));
  const facts = (known ?? problems.facts).slice(0, CAUSES_MAX);
  const own = problems.own.slice(0, CAUSES_MAX);
  if (facts.length === 0) return [...metadata, ...own];
  if (own.length === 0) return [...metadata, ...facts];
  const fields = new Set(own.map(({ field }) => field));
  const reasons = new Set(own.map(causeKey));
  const left = facts.filter((error) =>
    // An empty value that somebody calls wrong is not missing as well.
    error.reason === "FieldValueRequired"
      ? !fields.has(error.field)
      : !reasons.has(causeKey(error)),
  );
  return [...metadata, ...inOrder(left, own)];
}

/** The same field refused for the same reason is one cause. */
export function causeKey({ field, reason }: FieldError): string {
  return `${reason} ${field}`;
}

/** The facts' problems come first, but for those that stand in a later item of a list. */
function inOrder(facts: readonly FieldError[], own: readonly FieldError[]): FieldError[] {
  if (facts.length * own.length > COMPARISONS_MAX) return [...facts, ...own];
  const placed: FieldError[][] = [[], ...own.map((error) => [error])];
  for (const error of facts) {
    const last = own.findLastIndex(({ field }) => isInEarlierItem(field, error.field));
    placed[last + 1]?.push(error);
  }
  return placed.flat();
}

/** Whether the paths part at two items of one list, and this one is in the earlier. */
function isInEarlierItem(path: string, other: string): boolean {
  const [own, others] = [path.split(/[.[]/), other.split(/[.[]/)];
  const parting = own.findIndex((segment, index) => segment !== others[index]);
  const [left, right] = [own[parting] ?? "", others[parting] ?? ""];
  return (
    ITEM.test(left) && ITEM.test(right) && Number.parseInt(left, 10) < Number.parseInt(right, 10)
  );
}

/** What a split path has of "[12]". */
const ITEM = /^\d+\]$/;
