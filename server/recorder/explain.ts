/** The chain of writes that led to one, back to the first that nothing led to. Pure. */
import { type Links, linksOf, type Names } from "./links.js";
import { isSameObject, type RecordIndex } from "./record-index.js";
import type { ExplainedStep, Explanation, Link, RecordedWrite } from "./record-types.js";

const STEPS_MAX = 50;

/** @param last the write that is asked about */
export function explain(
  index: RecordIndex,
  last: RecordedWrite,
  names: Names,
): Pick<Explanation, "steps" | "end"> {
  const steps: ExplainedStep[] = [];
  const known = new Set<string>();
  let current: RecordedWrite | undefined = last;
  let end: Explanation["end"] = "limit";
  while (current !== undefined && steps.length < STEPS_MAX) {
    known.add(current.id);
    const links = linksOf(index, current, names);
    const next = follow(index, current, links);
    const isNew = next !== undefined && !known.has(next.id);
    const { exact, candidates } = links;
    steps.push({ write: current.id, followed: isNew ? next.id : "", exact, candidates });
    if (!isNew) end = isForgotten(index, exact) ? "forgotten" : "outer";
    current = isNew ? next : undefined;
  }
  return { steps, end };
}

/** The write that a question about an object is about. */
export function findWrite(
  index: RecordIndex,
  object: Pick<RecordedWrite, "group" | "resource" | "namespace" | "name">,
  revision: string,
): RecordedWrite | undefined {
  return index.writes.findLast(
    (write) =>
      isSameObject(write, object as RecordedWrite) &&
      (revision === "" ? write.changedAnything : write.revision === revision),
  );
}

/**
 * Who follows nothing was led by nothing that is known. Of the others the likeliest candidate led, unless the write
 * was made upon something newer that another one wrote.
 */
function follow(
  index: RecordIndex,
  write: RecordedWrite,
  { exact, likely }: Links,
): RecordedWrite | undefined {
  const named = exact.find(({ by, to }) => !STATED.has(by) && to !== "");
  if (named !== undefined) return index.byId.get(named.to);
  if (!index.isFollower(write)) return undefined;
  const base = exact.find(({ to }) => to !== "");
  const upon = base && index.byId.get(base.to);
  const isOthers = upon !== undefined && !index.isSameClient(upon, write);
  if (likely === undefined) return isOthers ? upon : undefined;
  return isOthers && Number(upon.revision) > Number(likely.revision) ? upon : likely;
}

const STATED: ReadonlySet<string> = new Set(["resourceVersion", "precondition"]);

function isForgotten(index: RecordIndex, exact: readonly Link[]): boolean {
  const oldest = index.writes.find(({ revision }) => revision !== "");
  return exact.some(
    ({ to, revision, read }) =>
      to === "" && read !== "" && Number(revision) < Number(oldest?.revision ?? 0),
  );
}
