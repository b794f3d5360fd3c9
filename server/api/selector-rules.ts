/**
 * What all selectors have in common, wherever they are written (a request's parameters, access reviews, fields
 * of objects): how large one may be (H6), and requirements compiled so that a match costs what the object has,
 * not what the selector says. kube-apiserver bounds selectors only by the size of what they are written in;
 * here everybody waits for the thread that matches them.
 *
 *   compileRequirements([a in (x,y), b notin (z), !c])
 *     needed   a -> {x, y}       each looked up, until one is missing
 *     refused  b -> {z}, c -> *  looked up by whichever is shorter: these, or the object's labels
 */

/** Requirements of one selector: labels and expressions, or terms. */
export const SELECTOR_TERMS_MAX = 1_000;
/** Values of one selector, in all requirements together. */
export const SELECTOR_VALUES_MAX = 10_000;

/** UTF-16 units of a selector that is written as text: room for the longest names in all of the above. */
export const SELECTOR_CHARS_MAX = 1024 * 1024;
/** Refused keys that are looked up in each object. */
const LOOKED_UP_MAX = 4;

/** Counts what a selector holds while it is read. */
export class SelectorSize {
  #terms = 0;
  #values = 0;

  /** @returns what is wrong after one more requirement; undefined = nothing */
  addTerm(): string | undefined {
    if (++this.#terms <= SELECTOR_TERMS_MAX) return undefined;
    return `a selector may have at most ${SELECTOR_TERMS_MAX} requirements`;
  }

  /** @returns what is wrong after more values; undefined = nothing */
  addValues(count: number): string | undefined {
    this.#values += count;
    if (this.#values <= SELECTOR_VALUES_MAX) return undefined;
    return `the requirements of a selector may have at most ${SELECTOR_VALUES_MAX} values together`;
  }
}

/** @returns what is wrong with the length of a selector's text; undefined = nothing */
export function lengthProblem(text: string): string | undefined {
  if (text.length <= SELECTOR_CHARS_MAX) return undefined;
  return `a selector may have at most ${SELECTOR_CHARS_MAX} characters`;
}

/** One requirement on the value of a key, in a form that matches without parsing. */
export type Requirement =
  | { readonly operator: "exists" | "missing"; readonly key: string }
  | { readonly operator: "in" | "notin"; readonly key: string; readonly values: readonly string[] }
  /** Whole numbers compared as numbers. */
  | { readonly operator: "above" | "below"; readonly key: string; readonly bound: bigint };

type Values = Readonly<Record<string, string>>;

/** The predicate that all requirements make together. */
export function compileRequirements(
  requirements: readonly Requirement[],
): (values: Values) => boolean {
  const needed = new Map<string, Needed>();
  const refused = new Map<string, readonly string[] | Set<string> | "any">();
  for (const requirement of requirements) {
    const { key, operator } = requirement;
    if (operator === "missing") refused.set(key, "any");
    else if (operator === "notin") {
      refused.set(key, refuse(refused.get(key), requirement.values));
    } else narrow(neededOf(needed, key), requirement);
  }
  const all = [...needed.values()];
  const tests = new Map<string, ValueTest>();
  for (const [key, values] of refused) tests.set(key, values === "any" ? always : isOneOf(values));
  const few = tests.size <= LOOKED_UP_MAX ? [...tests] : undefined;
  return (values) =>
    hasNeeded(values, all) &&
    (few === undefined ? hasNoneOf(values, tests) : lacksEach(values, few));
}

type ValueTest = (value: string) => boolean;

/** What the value of one key must be; without members, anything. */
interface Needed {
  readonly key: string;
  isMember: ValueTest | undefined;
  above: bigint | undefined;
  below: bigint | undefined;
}

function neededOf(needed: Map<string, Needed>, key: string): Needed {
  let rule = needed.get(key);
  if (rule === undefined) {
    rule = { key, isMember: undefined, above: undefined, below: undefined };
    needed.set(key, rule);
  }
  return rule;
}

function narrow(rule: Needed, requirement: Requirement): void {
  const { above, below, isMember } = rule;
  switch (requirement.operator) {
    case "in": {
      const { values } = requirement;
      rule.isMember = isOneOf(isMember === undefined ? values : values.filter(isMember));
      break;
    }
    case "above":
      if (above === undefined || requirement.bound > above) rule.above = requirement.bound;
      break;
    case "below":
      if (below === undefined || requirement.bound < below) rule.below = requirement.bound;
      break;
    default:
  }
}

/** The values that are refused now. A list becomes a set of its own only when more are added. */
function refuse(
  known: readonly string[] | Set<string> | "any" | undefined,
  values: readonly string[],
): readonly string[] | Set<string> | "any" {
  if (known === undefined) return values;
  if (known === "any") return known;
  const all = known instanceof Set ? known : new Set(known);
  for (const value of values) all.add(value);
  return all;
}

function isOneOf(values: readonly string[] | Set<string>): ValueTest {
  if (values instanceof Set) return (value) => values.has(value);
  const [only] = values;
  if (values.length === 1) return (value) => value === only;
  const members = new Set(values);
  return (value) => members.has(value);
}

function always(): boolean {
  return true;
}

function hasNeeded(values: Values, needed: readonly Needed[]): boolean {
  for (let at = 0; at < needed.length; at++) {
    const { key, isMember, above, below } = needed[at] as Needed;
    // Own properties only: no object inherits a label named "constructor".
    if (!Object.hasOwn(values, key)) return false;
    const value = values[key] as string;
    if (isMember !== undefined && !isMember(value)) return false;
    if (above === undefined && below === undefined) continue;
    const number = parseWholeNumber(value);
    if (number === undefined) return false;
    if (above !== undefined && number <= above) return false;
    if (below !== undefined && number >= below) return false;
  }
  return true;
}

/** Looks each refused key up in the object. */
function lacksEach(values: Values, refused: readonly (readonly [string, ValueTest])[]): boolean {
  for (let at = 0; at < refused.length; at++) {
    const [key, isRefused] = refused[at] as readonly [string, ValueTest];
    if (Object.hasOwn(values, key) && isRefused(values[key] as string)) return false;
  }
  return true;
}

/** Looks each of the object's keys up among the refused. */
function hasNoneOf(values: Values, refused: ReadonlyMap<string, ValueTest>): boolean {
  for (const key in values) {
    if (refused.get(key)?.(values[key] as string) === true) return false;
  }
  return true;
}

/** A signed 64-bit number in decimal; undefined for anything else. */
export function parseWholeNumber(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
