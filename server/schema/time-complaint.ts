/**
 * What kube-apiserver says of a text that is no time: its parser reads a layout part by part, and names the part that
 * the rest of the text is not, the number that is out of range, or what is left over.
 */

/** A part of a layout, and the numbers that it may have. */
interface Part {
  readonly pattern: RegExp;
  readonly numbers?: readonly [name: string, low: number, high: number];
}

const TWO_DIGITS = /^\d\d/;
const PARTS: Readonly<Record<string, Part>> = {
  "2006": { pattern: /^\d{4}/ },
  "01": { pattern: TWO_DIGITS, numbers: ["month", 1, 12] },
  "02": { pattern: TWO_DIGITS },
  "15": { pattern: /^\d\d?/, numbers: ["hour", 0, 23] },
  "04": { pattern: TWO_DIGITS, numbers: ["minute", 0, 59] },
  "05": { pattern: TWO_DIGITS, numbers: ["second", 0, 59] },
  ".000000": { pattern: /^[.,]\d{6}/ },
  "Z07:00": { pattern: /^(?:Z|[+-]\d\d:\d\d)/ },
};
const PART = /2006|01|02|15|04|05|\.000000|Z07:00|[^\d.Z]+/g;
const FRACTION = /^[.,]\d+/;

/** @param layout as messages show it: "2006-01-02T15:04:05Z07:00" */
export function timeComplaint(text: string, layout: string): string {
  const as = `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}`;
  let rest = text;
  for (const name of layout.match(PART) ?? []) {
    const part = PARTS[name];
    if (part === undefined) {
      if (!rest.startsWith(name))
        return `${as}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(name)}`;
      rest = rest.slice(name.length);
      continue;
    }
    const found = part.pattern.exec(rest)?.[0];
    if (found === undefined)
      return `${as}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(name)}`;
    const [unit = "", low = 0, high = 0] = part.numbers ?? [];
    if (part.numbers !== undefined && (Number(found) < low || Number(found) > high)) {
      return `parsing time ${JSON.stringify(text)}: ${unit} out of range`;
    }
    rest = rest.slice(found.length);
    // A fraction may follow where the layout has none.
    if (name === "05" && !layout.includes(".000000")) rest = rest.replace(FRACTION, "");
  }
  if (rest !== "")
    return `parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(rest)}`;
  return `parsing time ${JSON.stringify(text)}: day out of range`;
}
