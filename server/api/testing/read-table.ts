/** readTable: a table of facts that tests hold the code to, from a .tsv file among the sources: a row a line, "# " before words. */
import { readFileSync } from "node:fs";

/** @param file from the root of the sources */
export function readTable(file: string): string[][] {
  const text = readFileSync(new URL(`../../../../${file}`, import.meta.url), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("# "));
  return lines.map((line) => line.split("\t"));
}
