/** CBOR of every served kind, on objects that are generated from the facts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createNaming } from "../api/naming.js";
import { parseJson } from "../schema/parse-json.js";
import { loadFacts } from "../types/load-facts.js";
import { encodeCbor } from "./cbor.js";
import { parseCbor } from "./cbor-parser.js";
import { createGenerator, servedKinds } from "./testing/generated-objects.js";

const facts = loadFacts(createNaming("kubernetes"));
const structOf = createGenerator(facts.model);

/** Objects per kind; the seed differs from run to run. */
const RUNS = 10;

for (const { type, objects } of servedKinds(facts)) {
  test(`S1-NEG-05, S1-NEG-06: any ${type.id} is the same object after CBOR`, () => {
    fc.assert(
      fc.property(structOf(type), (input) => {
        const canonical = objects.encode(objects.decode(input).object);
        const read = parseCbor(encodeCbor(parseJson(canonical)));
        assert.equal(objects.encode(objects.decode(read).object), canonical);
      }),
      { numRuns: RUNS },
    );
  });
}
