/**
 * The seed of all random tests. `npm test` always draws the same, so that its answer depends on the code
 * alone (e2e/run-tests.sh imports this before each file, for fast-check); the long run (`npm run
 * test:long`) draws anew, and a failure prints the seed. KEELSON_SEED repeats a run.
 */
import fc from "fast-check";

const FIXED_SEED = 36;

export const SEED = Number(
  process.env.KEELSON_SEED ??
    (process.env.KEELSON_TEST_LONG === undefined ? FIXED_SEED : Date.now() % 1_000_000),
);

fc.configureGlobal({ seed: SEED });
