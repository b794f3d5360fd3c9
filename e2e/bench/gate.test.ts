/**
 * The regression gate: what a get, a create, an update and a watch event cost, in code that runs (count-probe.ts)
 * and in bytes of V8's heap. Counted and not timed, so it says the same on a slow machine and a fast one.
 *
 * A change that makes one of them dearer (by a twentieth of the code, or a tenth of the bytes) fails here. Where the price is worth paying, the bound
 * moves in the same change, whose message says why; `node dist/e2e/bench/counts.js` prints the counts. Where
 * something became cheaper by as much, move it as well, or the gain can be lost again unseen.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { countAll } from "./counts.js";

/** On Node 24 without optimised code, over HTTP/1.1 and the embedded store. */
const BOUNDS: Readonly<Record<string, { readonly code: number; readonly bytes?: number }>> = {
  get: { code: 42_600, bytes: 29_700 },
  create: { code: 159_900, bytes: 104_400 },
  // A fifth of it keeps the version that was replaced as its difference.
  update: { code: 221_000, bytes: 112_600 },
  // Of its bytes most are Node's, and few: they are not the same each time.
  "watch event": { code: 3_350 },
};
/** Two counts of the same code differ by less than a hundredth, on half a core as well. */
const CODE_TOLERANCE = 1.05;
const BYTES_TOLERANCE = 1.1;
/** Less than this part of its bound has not been counted. */
const COUNTED_PART = 0.5;
/** What Node allocates by itself differs from release to release. */
const BYTES_ARE_KNOWN = process.version.startsWith("v24.");

test("a get, a create, an update and a watch event are no dearer than they were", async (t) => {
  const counts = await countAll(true);
  for (const [name, bound] of Object.entries(BOUNDS)) {
    const counted = counts[name];
    assert.ok(counted !== undefined, name);
    const { code, bytes } = counted;
    t.diagnostic(`${name}: ${code.toFixed(0)} of code, ${bytes.toFixed(0)} bytes`);
    const change = `${name}: ${code.toFixed(0)} characters of code, bound ${bound.code}`;
    assert.ok(code <= bound.code * CODE_TOLERANCE && code > bound.code * COUNTED_PART, change);
    if (!BYTES_ARE_KNOWN || bound.bytes === undefined) continue;
    const growth = `${name}: ${bytes.toFixed(0)} bytes of heap, bound ${bound.bytes}`;
    assert.ok(bytes <= bound.bytes * BYTES_TOLERANCE && bytes > bound.bytes * COUNTED_PART, growth);
  }
});
