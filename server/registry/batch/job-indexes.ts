/**
 * Lists of a job's indexes as text: numbers and intervals in increasing order, "1,3-5,7". They may be 64 K long, so
 * that they are walked once.
 */

/** @returns how many indexes there are, or why the text is no list of indexes below `completions` */
export function countIndexes(text: string, completions: number): number | string {
  if (text === "") return 0;
  let last = -1;
  let total = 0;
  for (const part of text.split(",")) {
    const interval = parseInterval(part, completions);
    if (typeof interval === "string") return interval;
    const [first, end] = interval;
    if (total > 0 && last >= first) return notIncreasing(last, first);
    total += end - first + 1;
    last = end;
  }
  return total;
}

/** @returns the first index that is in both; intervals that cannot be read are passed over */
export function commonIndex(left: string, right: string, completions: number): number | undefined {
  const [ours, theirs] = [left, right].map((text) => readableIntervals(text, completions));
  let [at, other] = [0, 0];
  for (;;) {
    const [mine, its] = [ours?.[at], theirs?.[other]];
    if (mine === undefined || its === undefined) return undefined;
    if (mine[0] <= its[1] && its[0] <= mine[1]) return Math.max(mine[0], its[0]);
    if (mine[0] <= its[0]) at++;
    else other++;
  }
}

type Interval = readonly [first: number, last: number];

function readableIntervals(text: string, completions: number): Interval[] {
  if (text === "") return [];
  return text
    .split(",")
    .map((part) => parseInterval(part, completions))
    .filter((interval): interval is Interval => typeof interval !== "string");
}

function parseInterval(text: string, completions: number): Interval | string {
  const [low = "", high, ...more] = text.split("-");
  if (more.length > 0) {
    return `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  }
  const first = parseIndex(low, completions);
  if (typeof first === "string") return first;
  if (high === undefined) return [first, first];
  const last = parseIndex(high, completions);
  if (typeof last === "string") return last;
  return first >= last ? notIncreasing(first, last) : [first, last];
}

function parseIndex(text: string, completions: number): number | string {
  if (!/^[+-]?\d{1,18}$/.test(text)) {
    return `cannot convert string to integer for index: ${JSON.stringify(text)}`;
  }
  const index = Number(text);
  return index >= completions ? `too large index: ${JSON.stringify(text)}` : index;
}

function notIncreasing(previous: number, current: number): string {
  return `non-increasing order, previous: ${previous}, current: ${current}`;
}
