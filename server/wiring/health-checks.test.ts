/** What probes and people learn of a store that takes no writes; docs/run/operations.md says the same. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { Health } from "../http/health.js";
import { parseQuery } from "../request/query.js";
import { addSpaceCheck } from "./health-checks.js";

const never = new AbortController().signal;

test("H-full: a full store leaves a replica ready, as it serves reads and deletes, and is shown to who asks", async () => {
  const health = new Health({ logger: silentLogger, clock: systemClock, livezGracePeriodMs: 0 });
  for (const shortage of ["disk", "quota"] as const) {
    const space = { shortage };
    addSpaceCheck(health, space as unknown as Parameters<typeof addSpaceCheck>[1]);
    for (const endpoint of ["readyz", "healthz", "livez"] as const) {
      const { status, body } = await health.report(endpoint, parseQuery(""), never);
      assert.deepEqual([status, body], [200, "ok"]);
      const verbose = String((await health.report(endpoint, parseQuery("verbose"), never)).body);
      assert.equal(verbose.includes("[-]store-space failed"), endpoint !== "livez", verbose);
    }
    assert.equal((await health.reportOne("readyz", "store-space", never)).status, 500);
  }
});
