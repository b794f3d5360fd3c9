/** Costs of the functions that build texts, or lists of them, out of texts. */
import { TRAVERSAL_FACTOR as TRAVERSAL } from "../costs.js";
import { byName, type CallCosts, type Part, type Running, sizeOf } from "./call-costs.js";
import { ENDLESS, exactly, productOf, type Range, scaled, sumOf } from "./ranges.js";

const twice: Running = ([text]) => Math.ceil(sizeOf(text) * 2 * TRAVERSAL);
const NO_SIZE: Range = exactly(0);
const sizeAt = (parts: readonly Part[], index: number): Range => parts[index]?.size ?? NO_SIZE;

export const REPLACED: CallCosts = byName((parts) => {
  const text = sizeAt(parts, 0);
  return {
    cost: scaled(text.max, 2 * TRAVERSAL),
    size: replacedSize(text, sizeAt(parts, 1), sizeAt(parts, 2)),
  };
}, twice);

/** The longest result has the shortest search texts replaced, the shortest one the longest. */
function replacedSize(text: Range, search: Range, by: Range): Range {
  let count = 0;
  let kept = 0;
  if (search.min === 0) {
    count = Math.min(text.max + 1, ENDLESS);
    kept = text.max;
  } else if (by.max <= search.min) kept = text.max;
  else count = Math.ceil(text.max / search.min);
  let countMin = 0;
  let keptMin = 0;
  if (search.max === 0) {
    countMin = Math.min(text.min + 1, ENDLESS);
    keptMin = text.min;
  } else if (search.max <= by.min) keptMin = text.min;
  else countMin = Math.ceil(text.min / search.max);
  return sumOf(productOf({ min: countMin, max: count }, by), { min: keptMin, max: kept });
}

/** An empty separator gives one item for each character. */
export const SPLIT: CallCosts = byName((parts) => {
  const text = sizeAt(parts, 0);
  const limit = parts[2]?.literal;
  const max = typeof limit === "bigint" ? (limit < 0n ? ENDLESS : Number(limit)) : text.max;
  return { cost: scaled(text.max, 2 * TRAVERSAL), size: { min: 0, max } };
}, twice);

export const JOINED: CallCosts = byName(
  (parts) => {
    const list = sizeAt(parts, 0);
    const items = parts[0]?.items();
    let size = items === undefined ? NO_SIZE : productOf(list, items.size);
    const separator = parts[1]?.size;
    if (separator !== undefined) {
      const count = { min: Math.max(0, list.min - 1), max: before(list.max) };
      size = sumOf(size, productOf(separator, count));
    }
    return { cost: scaled(size.max, TRAVERSAL), size };
  },
  { ofResult: (result) => Math.ceil(sizeOf(result) * 2 * TRAVERSAL) },
);

function before(count: number): number {
  return count >= ENDLESS ? ENDLESS : Math.max(0, count - 1);
}
