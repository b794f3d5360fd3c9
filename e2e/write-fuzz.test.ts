/**
 * A share of the fuzz of patches and applies (e2e/fuzz/): 4,000 writes from a seed that is printed.
 * KEELSON_SEED repeats a run; `node dist/e2e/fuzz/run.js` runs 200,000.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SEED } from "../storage/base/testing/random.js";
import { runCampaign } from "./fuzz/campaign.js";

const WRITES = 4_000;

test(`S1-PATCH-11, S1-SSA-09..16: ${WRITES} random patches and applies equal their models (seed ${SEED})`, async (t) => {
  const shares = await runCampaign(WRITES, SEED);
  for (const { name, writes, note } of shares) t.diagnostic(`${name}: ${writes} ${note}`);
  assert.ok(shares.every(({ writes }) => writes > 0));
});
