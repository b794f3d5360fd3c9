/** The letters of outcomes in pictures, which say what colours say: on the page and in reports. */
import type { WriteOutcome } from "./record-types.js";

export const OUTCOME_LETTERS: Readonly<Record<WriteOutcome, string>> = {
  created: "C",
  changed: "U",
  marked: "M",
  deleted: "D",
  unchanged: "=",
  conflict: "!",
  refused: "!",
};
