/**
 * Joins an object's errors into one list: those of the facts, of the metadata, and of the type's
 * hand-written rules, which have the best messages. Clients see one cause for one mistake, in the
 * order of kube-apiserver: metadata first, and the items of a list one after the other.
 */
import { CAUSES_MAX, type FieldError } from "../../api/status.js";

export interface Problems {
  /** Required fields and closed sets of values (`server/schema/checks.ts`). */
  readonly facts: readonly FieldError[];
  readonly metadata: readonly FieldError[];
  /** The strategy's errors. */
  readonly own: readonly FieldError[];
  /** Fields that only the strategy reports, under paths of its own. */
  readonly ownFields?: RegExp | undefined;
}

/** Above this many comparisons of paths the order of items no longer matters. */
const COMPARISONS_MAX = 10_000;

export function joinProblems(problems: Problems): FieldError[] {
  const { metadata, ownFields } = problems;
  const known = ownFields && problems.facts.filter(({ field }) => !ownFields.test(field));
  const facts = (known ?? problems.facts).slice(0, CAUSES_MAX);
  const own = problems.own.slice(0, CAUSES_MAX);
  if (facts.length === 0) return [...metadata, ...own];
  if (own.length === 0) return [...metadata, ...facts];
  const judged = own.filter(({ message }) => !message.endsWith(": field is immutable"));
  const fields = new Set(judged.map(({ field }) => field));
  const reasons = new Set(own.map(causeKey));
  const unions = own.filter(({ message }) => message.endsWith(BOTH_REQUESTS));
  const left = facts.filter((error) => {
    // Which of the two counts is unknown, and neither is looked at.
    if (unions.some(({ field }) => isWithinRequest(field, error.field))) return false;
    // An empty value that another rule calls invalid is not reported as missing as well.
    return error.reason === "FieldValueRequired"
      ? !fields.has(error.field)
      : !reasons.has(causeKey(error));
  });
  return [...metadata, ...placeFacts(left, own)];
}

/** How the problem of a request for devices ends that is written in both forms. */
const BOTH_REQUESTS = "`exactly` or `firstAvailable` is required, but multiple fields are set";

function isWithinRequest(request: string, path: string): boolean {
  const form = path.startsWith(request) ? path.slice(request.length) : "";
  return form.startsWith(".exactly.") || form.startsWith(".firstAvailable[");
}

/** The same field with the same reason is one cause. */
export function causeKey({ field, reason }: FieldError): string {
  return `${reason} ${field}`;
}

/** The facts' errors come first, except those in a later item of a list. */
function placeFacts(facts: readonly FieldError[], own: readonly FieldError[]): FieldError[] {
  if (facts.length * own.length > COMPARISONS_MAX) return [...facts, ...own];
  const placed: FieldError[][] = [[], ...own.map((error) => [error])];
  for (const error of facts) {
    const last = own.findLastIndex(({ field }) => isInEarlierItem(field, error.field));
    placed[last + 1]?.push(error);
  }
  return placed.flat();
}

/** Whether both paths lead into one list, and this one into an earlier item. */
function isInEarlierItem(path: string, other: string): boolean {
  const [own, others] = [path.split(/[.[]/), other.split(/[.[]/)];
  const parting = own.findIndex((segment, index) => segment !== others[index]);
  const [left, right] = [own[parting] ?? "", others[parting] ?? ""];
  return (
    ITEM.test(left) && ITEM.test(right) && Number.parseInt(left, 10) < Number.parseInt(right, 10)
  );
}

/** A path segment for "[12]", after splitting. */
const ITEM = /^\d+\]$/;
