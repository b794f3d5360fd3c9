/** `node dist/server/types/testing/write-elements.js`: adds new elements of the facts to docs/dev/api-elements.tsv. */
import { createNaming } from "../../api/naming.js";
import { loadFacts } from "../load-facts.js";
import { elementsOf, missingElements, readElements, writeElements } from "./elements.js";

const there = elementsOf(loadFacts(createNaming("kubernetes")));
const missing = missingElements(readElements(), there);
if (missing.length > 0) {
  process.stderr.write(`not there any more, and not taken back: ${missing.join(", ")}\n`);
  process.exitCode = 1;
} else {
  writeElements(there);
}
