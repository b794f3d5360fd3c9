/**
 * What a test asks a server: what was requested, whether anything moves any more, the way back to a state of
 * before, and what time it is.
 */
import { badRequest } from "../api/status.js";
import { type Endpoints, numberOf } from "./endpoints.js";
import { ADVANCE_MS_MAX, type MovableClock } from "./movable-clock.js";
import type { RequestObserver } from "./request-observer.js";
import type { Snapshots } from "./snapshots.js";

export const REQUESTS_PATH = "/debug/test-api/requests";
export const SETTLED_PATH = "/debug/test-api/settled";
export const SNAPSHOTS_PATH = "/debug/test-api/snapshots";
export const CLOCK_PATH = "/debug/test-api/clock";
export const RESET_PATH = "/debug/test-api/reset";

const QUIET_MS = 100;
/** Callers ask again: one request may not last as long as their patience. */
const WAIT_MS_MAX = 20_000;
const MS = { fallback: 0, max: Number.MAX_SAFE_INTEGER };

export function testEndpoints(
  { log, activity }: RequestObserver,
  snapshots: Snapshots,
  clock: MovableClock,
): Endpoints {
  const time = () => ({ now: new Date(clock.now()).toISOString(), aheadMs: clock.aheadMs });
  return {
    [REQUESTS_PATH]: {
      GET: ({ query }) => ({
        items: log.find({
          after: numberOf("after", query.get("after"), MS),
          sinceMs: numberOf("sinceMs", query.get("sinceMs"), MS),
          user: query.get("user"),
          verb: query.get("verb"),
        }),
      }),
    },
    [SETTLED_PATH]: {
      GET: ({ query, signal }) => {
        const limits = { fallback: WAIT_MS_MAX, max: WAIT_MS_MAX };
        const quietMs = numberOf("quietMs", query.get("quietMs"), {
          ...limits,
          fallback: QUIET_MS,
        });
        const deadlineMs = numberOf("deadlineMs", query.get("deadlineMs"), limits);
        return activity.settled(quietMs, deadlineMs, signal);
      },
    },
    [CLOCK_PATH]: {
      GET: time,
      POST: ({ body: { advanceMs } }) => {
        const max = ADVANCE_MS_MAX - clock.aheadMs;
        clock.advance(numberOf("advanceMs", advanceMs, { fallback: 0, max }));
        return time();
      },
    },
    [SNAPSHOTS_PATH]: { POST: () => snapshots.take() },
    [RESET_PATH]: {
      POST: ({ body: { snapshot }, signal }) => {
        if (typeof snapshot !== "string")
          throw badRequest("snapshot: the id of a snapshot is expected");
        return snapshots.reset(snapshot, signal);
      },
    },
  };
}
