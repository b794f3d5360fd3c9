/**
 * How long a deprecated element stays, by its kind and stability: the promise to clients and operators in
 * numbers (docs/use/api-versions.md). The longer one of a time and a number of releases applies; there are
 * three releases a year. Pure.
 */
import type { Release } from "./lifecycle.js";

export type Stability = "alpha" | "beta" | "stable";

/** The promise for an element after its deprecation. */
export interface Promised {
  readonly months: number;
  readonly releases: number;
}

const NOTHING: Promised = { months: 0, releases: 0 };

export const PROMISES = {
  /** Flags and output that users see. */
  "user-facing element": {
    stable: { months: 12, releases: 2 },
    beta: { months: 3, releases: 1 },
    alpha: NOTHING,
  },
  /** Flags and configuration of the server's operators. */
  "admin-facing element": {
    stable: { months: 6, releases: 1 },
    beta: { months: 3, releases: 1 },
    alpha: NOTHING,
  },
  behaviour: {
    stable: { months: 12, releases: 0 },
    beta: { months: 12, releases: 0 },
    alpha: { months: 12, releases: 0 },
  },
  "feature gate": {
    stable: { months: 6, releases: 2 },
    beta: { months: 3, releases: 1 },
    alpha: NOTHING,
  },
  metric: {
    stable: { months: 9, releases: 3 },
    beta: { months: 4, releases: 1 },
    alpha: NOTHING,
  },
} as const satisfies Record<string, Readonly<Record<Stability, Promised>>>;

export type Element = keyof typeof PROMISES;

const MONTHS_PER_RELEASE = 4;

/** The number of releases that still have the deprecated element. */
export function releasesAfterDeprecation(element: Element, stability: Stability): number {
  const { months, releases } = PROMISES[element][stability];
  return Math.max(releases, Math.ceil(months / MONTHS_PER_RELEASE));
}

/** The first release that may remove an element deprecated in `deprecated`. */
export function removableIn(element: Element, stability: Stability, deprecated: Release): Release {
  return {
    major: deprecated.major,
    minor: deprecated.minor + releasesAfterDeprecation(element, stability),
  };
}
