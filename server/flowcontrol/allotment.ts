/**
 * Allotment: divides the server's seats among the priority levels. Each level has bounds from its
 * configuration and a target from its demand; seats are allotted in proportion to the targets, within
 * the bounds.
 *
 *     100 seats; a: target 10, bounds 5..20; b: target 60, bounds 10..100
 *     in proportion: a 14.3, b 85.7: within the bounds
 *     300 seats: in proportion a 42.9; a gets its bound of 20, b the rest up to its bound of 100
 */
import { assert } from "../../storage/base/assert.js";

export interface Claimant {
  readonly lower: number;
  readonly upper: number;
  /** At least `lower`. */
  readonly target: number;
}

/** Smaller targets are raised to this value, so that they can be divided by. */
const TARGET_MIN = 0.001;

export interface Allotment {
  /** By claimant; their sum is the total, unless the bounds prevent it. */
  readonly seats: readonly number[];
  /** Seats per target seat of claimants that meet no bound. */
  readonly fairShare: number;
}

/** Allots seats in proportion to the targets, within the bounds. */
export function allot(total: number, claimants: readonly Claimant[]): Allotment {
  const parts = claimants.map(({ lower, upper, target }) => {
    assert(lower >= 0 && lower <= upper, "BoundsInOrder");
    return { lower, upper, target: Math.max(target, TARGET_MIN) };
  });
  const at = (share: number) =>
    parts.map(({ lower, upper, target }) => Math.min(upper, Math.max(lower, share * target)));
  const sumAt = (share: number) => at(share).reduce((sum, seats) => sum + seats, 0);
  // The sum grows linearly between the shares at which a bound is met.
  const bends = parts
    .flatMap(({ lower, upper, target }) => [lower / target, upper / target])
    .sort((a, b) => a - b);
  let below = 0;
  for (const bend of bends) {
    if (sumAt(bend) >= total) {
      const [low, high] = [sumAt(below), sumAt(bend)];
      const share = high === low ? bend : below + ((bend - below) * (total - low)) / (high - low);
      const fairShare = Math.min(bend, Math.max(below, share));
      return { seats: at(fairShare), fairShare };
    }
    below = bend;
  }
  return { seats: at(below), fairShare: below };
}
