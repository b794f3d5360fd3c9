/**
 * People 45: the suite of an operator runs in parallel over forks of one API, and says what a test costs. Four of its forty
 * tests in `npm test`, one of each family; all in the long run.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { shareApi } from "../fresh-api/running-api.js";
import { isLong } from "../harness/is-long.js";
import { PatientClient } from "../harness/patient-client.js";
import { CASES } from "./cases.js";
import { startSiteOperator } from "./site-operator.js";
import { DEFINITIONS, SITES, siteDefinition } from "./sites.js";

const theApi = shareApi({ controlPlanes: true, manifests: [siteDefinition("Site", "sites")] });

const AT_ONCE = 8;
const chosen = isLong ? CASES : CASES.filter((_, index) => index % 10 === 3);

describe("an operator's tests, each in a fork of its own", { concurrency: AT_ONCE }, () => {
  for (const { title, run } of chosen) {
    test(`People 45: ${title}`, async (t) => {
      const { api } = theApi();
      const begunAt = performance.now();
      await using fork = await api.fork();
      const forkedAt = performance.now();
      const client = new PatientClient(fork.url, fork);
      try {
        await using operator = startSiteOperator(client);
        await run({ client, operator });
      } finally {
        client.close();
      }
      const [forked, took] = [forkedAt - begunAt, performance.now() - forkedAt];
      t.diagnostic(`fork ${Math.round(forked)} ms, test ${Math.round(took)} ms`);
    });
  }
});

test("People 45: the fixture is as it was, whatever the forks did", async () => {
  const { admin } = theApi();
  assert.deepEqual((await admin.get(SITES)).expect(200).items, []);
  const names = (await admin.get(DEFINITIONS)).items.map(({ metadata }) => metadata.name ?? "");
  assert.deepEqual(
    names.filter((name) => name.endsWith(".example.test")),
    ["sites.example.test"],
  );
});
