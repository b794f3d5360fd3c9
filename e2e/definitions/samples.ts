/**
 * Definitions with an object each, as a file for programs in other languages: those written to the size and
 * shape of what is published, and what is published, where that is to be had.
 */
import { writeFile } from "node:fs/promises";
import { fetchPublished } from "./published-definitions.js";
import { SHAPED_DEFINITIONS } from "./shaped-definitions.js";
import { smallestObject } from "./smallest-object.js";

export async function writeSamples(path: string): Promise<void> {
  const shaped = SHAPED_DEFINITIONS.map(({ definition }) => definition);
  const samples = [...shaped, ...((await fetchPublished()) ?? [])].map((definition) => ({
    definition,
    object: smallestObject(definition, "first"),
    plural: definition.spec.names.plural,
    namespaced: definition.spec.scope === "Namespaced",
  }));
  await writeFile(path, JSON.stringify(samples));
}
