/** The arithmetic of rolling updates, followed to its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { planRecreate, planRolling, rolloutBounds } from "./rollout.js";

interface Step {
  readonly next: number;
  readonly old: number;
}

/** Follows plans, with all pods available at once, until nothing changes. */
function followed(replicas: number, maxSurge: number, maxUnavailable: number): Step[] {
  const steps: Step[] = [{ next: 0, old: replicas }];
  for (;;) {
    const { next, old } = steps.at(-1) as Step;
    const set = (wanted: number) => ({ wanted, actual: wanted, available: wanted });
    const bounds = { replicas, maxSurge, maxUnavailable };
    const plan = planRolling(set(next), [set(old)], bounds);
    const step = { next: plan.next, old: plan.old[0] ?? 0 };
    assert.ok(step.next + step.old <= replicas + maxSurge, JSON.stringify(step));
    assert.ok(
      step.old + Math.min(next, step.next) >= replicas - maxUnavailable,
      JSON.stringify(step),
    );
    if (step.next === next && step.old === old) return steps;
    steps.push(step);
  }
}

for (const [replicas, surge, unavailable] of [
  [3, 1, 0],
  [3, 0, 1],
  [10, 3, 2],
  [1, 1, 0],
  [4, 4, 4],
] as const) {
  test(`${replicas} replicas with a surge of ${surge} and ${unavailable} unavailable reach the end within bounds`, () => {
    assert.deepEqual(followed(replicas, surge, unavailable).at(-1), { next: replicas, old: 0 });
  });
}

test("old pods that serve are kept while new ones do not get ready, and broken ones go first", () => {
  const bounds = { replicas: 3, maxSurge: 1, maxUnavailable: 0 };
  const next = { wanted: 1, actual: 1, available: 0 };
  assert.deepEqual(planRolling(next, [{ wanted: 3, actual: 3, available: 3 }], bounds), {
    next: 1,
    old: [3],
  });
  const broken = { wanted: 1, actual: 1, available: 0 };
  const good = { wanted: 3, actual: 3, available: 3 };
  assert.deepEqual(
    planRolling({ ...next, wanted: 0, actual: 0 }, [broken, good], bounds).old,
    [0, 3],
  );
});

test("Recreate waits for the last old pod", () => {
  const next = { wanted: 0, actual: 0, available: 0 };
  assert.deepEqual(planRecreate(next, [{ wanted: 0, actual: 1, available: 0 }], 2), {
    next: 0,
    old: [0],
  });
  assert.deepEqual(planRecreate(next, [{ wanted: 0, actual: 0, available: 0 }], 2), {
    next: 2,
    old: [0],
  });
});

test("percentages round in favour of progress and of availability", () => {
  const strategy = { rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } };
  const of = (replicas: number) =>
    rolloutBounds({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {},
      spec: { replicas, strategy },
    });
  assert.deepEqual(of(3), { replicas: 3, maxSurge: 1, maxUnavailable: 0 });
  assert.deepEqual(of(10), { replicas: 10, maxSurge: 3, maxUnavailable: 2 });
  const none = { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } };
  const stuck = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {},
    spec: { replicas: 3, strategy: none },
  };
  assert.equal(rolloutBounds(stuck).maxUnavailable, 1);
});
