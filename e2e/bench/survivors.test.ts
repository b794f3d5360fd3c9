/**
 * Requests stay young: what they allocate goes with V8's young collections. One old object that refers to
 * the next request's is enough to keep all later ones, so that collections cost a fifth of the server's CPU
 * (docs/dev/decisions/0059-requests-stay-young.md). `node dist/e2e/bench/survivors.js update` says who allocated
 * what survives. In the long run only.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLong } from "../harness/is-long.js";
import { survivorsOf } from "./survivors.js";

/**
 * Bytes a request. Those under way at a collection survive it: of a get 300 bytes where few are, 1,900 where all
 * sixteen connections wait for the server. An update's 3,800 to 8,300 are mostly what the store remembers of it and
 * the event that watches resume from.
 */
const BOUNDS: Readonly<Record<string, number>> = { get: 3_000, update: 10_000 };

if (isLong) {
  test("of what a get and an update allocate little survives the young collections", async (t) => {
    for (const [name, { bytes, sites }] of await survivorsOf(Object.keys(BOUNDS))) {
      t.diagnostic(`${name}: ${bytes.toFixed(0)} bytes`);
      const [most] = Object.entries(sites).sort(([, one], [, other]) => other - one);
      assert.ok(
        bytes <= (BOUNDS[name] ?? 0),
        `${name}: ${bytes.toFixed(0)} bytes, most by ${most}`,
      );
    }
  });
}
