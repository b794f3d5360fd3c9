import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { allot } from "./allotment.js";
import { SeatDemand } from "./seat-demand.js";
import { bitsOfHand, deal, HASH_BITS, hashOfFlow } from "./shuffle-sharding.js";

test("seats go in proportion to the targets, and what a bound leaves goes to the others", () => {
  const a = { lower: 5, upper: 20, target: 10 };
  const b = { lower: 10, upper: 1000, target: 60 };

  assert.deepEqual(rounded(allot(70, [a, b]).seats), [10, 60]);
  assert.deepEqual(rounded(allot(300, [a, b]).seats), [20, 280]);
  assert.deepEqual(rounded(allot(15, [a, b]).seats), [5, 10]);
});

test("any claimants: all seats are given out, within the bounds, in proportion where none stops it", () => {
  const claimant = fc
    .tuple(fc.nat({ max: 50 }), fc.nat({ max: 50 }), fc.nat({ max: 100 }))
    .map(([lower, room, more]) => ({ lower, upper: lower + room, target: lower + more }));
  fc.assert(
    fc.property(
      fc.array(claimant, { minLength: 1, maxLength: 12 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (claimants, part) => {
        const low = claimants.reduce((sum, { lower }) => sum + lower, 0);
        const high = claimants.reduce((sum, { upper }) => sum + upper, 0);
        const total = low + (high - low) * part;
        const { seats, fairShare } = allot(total, claimants);
        const given = seats.reduce((sum, one) => sum + one, 0);
        assert.ok(Math.abs(given - total) < 1e-6, `${given} of ${total}`);
        for (const [index, { lower, upper, target }] of claimants.entries()) {
          const got = seats[index] as number;
          const wanted = fairShare * Math.max(target, 0.001);
          assert.ok(got >= lower - 1e-9 && got <= upper + 1e-9);
          if (got > lower + 1e-9 && got < upper - 1e-9) assert.ok(Math.abs(got - wanted) < 1e-6);
        }
      },
    ),
  );
});

test("demand is weighted by time: mean, deviation and the largest value", () => {
  const demand = new SeatDemand(0);
  demand.set(10, 0);
  demand.set(0, 500);

  assert.deepEqual(demand.take(1000), { mean: 5, deviation: 5, high: 10 });
  assert.deepEqual(demand.take(2000), { mean: 0, deviation: 0, high: 0 });
});

test("a hand has no card twice, and flows are spread over all queues", () => {
  const counts = new Array<number>(64).fill(0);
  for (let flow = 0; flow < 2000; flow++) {
    const hand = deal(hashOfFlow(`flow-${flow}`), 64, 6);
    assert.equal(new Set(hand).size, 6);
    for (const card of hand) counts[card] = (counts[card] ?? 0) + 1;
  }

  const expected = (2000 * 6) / 64;
  for (const count of counts) assert.ok(Math.abs(count - expected) < expected * 0.4, `${count}`);
});

test("the largest hands that kube-apiserver allows need no more bits than there are", () => {
  assert.ok(bitsOfHand(128, 8) <= HASH_BITS);
  assert.ok(bitsOfHand(10_000_000, 3) > HASH_BITS);
});

function rounded(seats: readonly number[]): number[] {
  return seats.map((one) => Math.round(one * 1000) / 1000);
}
