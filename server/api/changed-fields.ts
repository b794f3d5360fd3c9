/**
 * Which fields differ between two states of an object. Pure, and linear in the values of both. A missing member and
 * one that is null are the same.
 */

/** Names of members and indices of items, from the object down. Belongs to the walk: copy it. */
export type FieldSteps = readonly (string | number)[];

/** Called for each field that differs and holds no others on one side. @returns false to end the walk */
export type TakeChange = (steps: FieldSteps, before: unknown, after: unknown) => boolean;

/** Changes with every write, or says who changed what. */
const BOOKKEEPING: ReadonlySet<string> = new Set(["resourceVersion", "managedFields"]);

/**
 * Without resourceVersion and managedFields; of each object what the state behind has, in its order, and then what it has
 * no more. @returns whether it came to its end
 */
export function compareFields(before: object, after: object, take: TakeChange): boolean {
  return compareMembers([], before as Members, after as Members, take);
}

/** The same of one member of two objects. */
export function compareMember(
  name: string,
  before: unknown,
  after: unknown,
  take: TakeChange,
): boolean {
  return compareValues([name], before, after, take);
}

/** "spec.containers[0].image"; names that are no words are in quotes: `data["a.b"]`. */
export function formatFieldPath(steps: FieldSteps): string {
  let path = "";
  for (const step of steps) path = memberPath(path, step);
  return path;
}

/** The path, in that form, of a member or an item of what is at `path`. */
export function memberPath(path: string, step: string | number): string {
  if (typeof step === "number") return `${path}[${step}]`;
  if (!WORD.test(step)) return `${path}[${JSON.stringify(step)}]`;
  return path === "" ? step : `${path}.${step}`;
}

const WORD = /^[\w-]+$/;

type Members = Readonly<Record<string, unknown>>;

function compareMembers(
  steps: (string | number)[],
  before: Members,
  after: Members,
  take: TakeChange,
): boolean {
  const isMetadata = steps.length === 1 && steps[0] === "metadata";
  for (const name in after) {
    const next = after[name];
    const was = before[name];
    if (was === next || (isMetadata && BOOKKEEPING.has(name))) continue;
    steps.push(name);
    const own = Object.hasOwn(before, name) ? was : undefined;
    const goesOn = compareValues(steps, own, next, take);
    steps.pop();
    if (!goesOn) return false;
  }
  for (const name in before) {
    if (Object.hasOwn(after, name) || (isMetadata && BOOKKEEPING.has(name))) continue;
    steps.push(name);
    const goesOn = compareValues(steps, before[name], undefined, take);
    steps.pop();
    if (!goesOn) return false;
  }
  return true;
}

function compareValues(
  steps: (string | number)[],
  before: unknown,
  after: unknown,
  take: TakeChange,
): boolean {
  if (before === after) return true;
  const [was, is] = [before ?? undefined, after ?? undefined];
  if (typeof was === "object" && typeof is === "object") {
    const areLists = Array.isArray(was);
    if (areLists && Array.isArray(is)) return compareItems(steps, was, is, take);
    if (!areLists && !Array.isArray(is)) {
      return compareMembers(steps, was as Members, is as Members, take);
    }
  }
  return was === is || take(steps, was, is);
}

function compareItems(
  steps: (string | number)[],
  before: readonly unknown[],
  after: readonly unknown[],
  take: TakeChange,
): boolean {
  const count = Math.max(before.length, after.length);
  for (let index = 0; index < count; index++) {
    if (before[index] === after[index]) continue;
    steps.push(index);
    const goesOn = compareValues(steps, before[index], after[index], take);
    steps.pop();
    if (!goesOn) return false;
  }
  return true;
}
