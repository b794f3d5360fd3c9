/**
 * Consistency under fire, twenty seconds of it: random work on three replicas over three etcd members, and
 * on one replica over the embedded store, while they are killed, paused and parted; a part of it on a
 * custom kind whose definition changes all the time. The command for longer runs is in
 * docs/dev/consistency.md.
 */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { type TestContext, test } from "node:test";
import { isLong } from "../harness/is-long.js";
import { FAULTS } from "./faults.js";
import { type FireOptions, runFire } from "./fire.js";
import { formatReport, hasFailed } from "./report.js";

interface Plan {
  /** Default: a built-in one. */
  readonly kind?: "custom";
  readonly store: FireOptions["store"];
  readonly seed: number;
  readonly seconds: number;
}

const PLANS: readonly Plan[] = [
  { store: "etcd", seed: randomInt(2 ** 31), seconds: 10 },
  { store: "embedded", seed: randomInt(2 ** 31), seconds: 5 },
  { store: "embedded", kind: "custom", seed: 4, seconds: 5 },
];

const LONG_PLANS: readonly Plan[] = [
  { store: "etcd", seed: 2, seconds: 15 },
  { store: "etcd", seed: 11, seconds: 15 },
  { store: "embedded", seed: 3, seconds: 8 },
  { store: "etcd", kind: "custom", seed: 5, seconds: 60 },
  { store: "etcd", kind: "custom", seed: randomInt(2 ** 31), seconds: 60 },
];

test("20 control planes under fire: no guarantee breaks in any, and nothing of one is seen in another", async (t) => {
  const seed = randomInt(2 ** 31);
  const { report, text } = await holdUnderFire(t, {
    ...{ seed, store: isLong ? "etcd" : "embedded", controlPlanes: 20, durationMs: 12_000 },
    ...{ roundMs: 12_000, replicas: 3, etcdMembers: 1, faults: FAULTS, stopsAt: "any" },
    ...{ clients: 2, wanderers: 1, namesPerNamespace: 3, thinkMs: 50 },
  });
  assert.ok(report.rounds === 20 && report.faults.size > 0 && report.events > 40, text);
});

for (const { store, kind = "built-in", seed, seconds } of isLong
  ? [...PLANS, ...LONG_PLANS]
  : PLANS) {
  test(`S1-RV-01, S1-RV-31, S1-WATCH-10: no guarantee breaks under fire (${store}, ${kind}, seed ${seed})`, async (t) => {
    const { report, text } = await holdUnderFire(t, {
      seed,
      store,
      kind,
      durationMs: seconds * 1_000,
      roundMs: Math.min(seconds, 30) * 1_000,
      replicas: 3,
      etcdMembers: 3,
      faults: FAULTS,
      clients: 8,
      wanderers: 3,
      namesPerNamespace: 5,
      thinkMs: 10,
      stopsAt: "any",
    });
    if (kind === "custom") assert.ok(report.definitions > 1, text);
  });
}

/** Runs the fire, in which no guarantee breaks and every history is decided. */
async function holdUnderFire(t: TestContext, plan: Omit<FireOptions, "log">) {
  const lines: string[] = [];
  const report = await runFire({ ...plan, log: (line) => lines.push(line) }).catch(
    (error: unknown) => {
      throw new Error([...lines, String(error)].join("\n"), { cause: error });
    },
  );
  const text = [...lines, formatReport(report)].join("\n");
  assert.ok(!hasFailed(report), text);
  assert.deepEqual(report.undecided, [], text);
  t.diagnostic(
    `seed ${plan.seed}: ${report.events} events, ${report.client.unknown} unknown writes`,
  );
  return { report, text };
}
