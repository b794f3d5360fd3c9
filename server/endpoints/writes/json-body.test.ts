/** A body's JSON reads alike whether it is short or long, and a long one leaves turns to others (H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { StatusError } from "../../api/status.js";
import { BODY_LIMITS } from "../../codec/body-values.js";
import { duplicateKeySteps, stringifyJson } from "../../codec/json.js";
import { parseLong } from "../../schema/parse-json.js";
import { type JsonBodyOptions, readJson } from "./json-body.js";

const describe = (why: string) => `no object: ${why}`;

/** What comes of a text: the body as JSON, or the refusal. */
async function outcomeOf(text: string, options: Partial<JsonBodyOptions>): Promise<string> {
  try {
    const read = await readJson(text, describe, {
      limits: BODY_LIMITS,
      findsDuplicates: true,
      pause: undefined,
      ...options,
    });
    return JSON.stringify([stringifyJson(read.value), read.duplicateFields]);
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return JSON.stringify(error.status);
  }
}

const anyJson = fc.json({ noUnicodeString: false });
const tornJson = fc
  .tuple(anyJson, fc.nat(40), fc.constantFrom("", "}", ",", '"', "1e400", "12345678901234567890"))
  .map(([text, at, torn]) => text.slice(0, at) + torn + text.slice(at));
const repeated = fc
  .tuple(anyJson, anyJson)
  .map(([a, b]) => `{"k":${a},"l":[{"x":1,"x":${b}}],"k":1.50}`);

test("H4: a long body is what a short one would be, with its repeated keys and refusals", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(anyJson, tornJson, repeated),
      fc.boolean(),
      async (torn, keepsDecimals) => {
        // A body's text comes from UTF-8.
        const text = torn.toWellFormed();
        const long = await outcomeOf(text, { keepsDecimals, pause: async () => {} });
        assert.equal(long, await outcomeOf(text, { keepsDecimals }));
      },
    ),
  );
});

test("H4: a long body is read in steps, and so is the search for the keys that it repeats", async () => {
  const members = Array.from({ length: 15_000 }, (_, at) => `"k${at}":["${at}",${at}.5]`);
  const text = `{${members.join(",")},"k0":1}`;
  for (const steps of [parseLong(text, true), duplicateKeySteps(text)]) {
    let count = 1;
    while (steps.next().done !== true) count++;
    assert.ok(count >= 10, `${count} steps`);
  }
  let turns = 0;
  await outcomeOf(text, { pause: async () => void turns++ });
  assert.ok(turns >= 2, `${turns} turns`);
});
