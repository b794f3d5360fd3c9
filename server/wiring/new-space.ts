/**
 * NewSpace: how large V8's space of new objects may get. It has two halves, and is collected whenever
 * one is full.
 *
 * What a request allocates dies with the request, so a small half is as good as a large one while few requests are
 * under way. Of more, each lives through a collection or two, is copied, and gets old: then a larger
 * half is cheaper. So the command begins with halves of 4 MiB (`--min-semi-space-size`), and they may grow
 * to `--max-semi-space-size` only while many requests are under way (docs/dev/decisions/0069).
 *
 *     t=0 s    4 MiB   the process starts, the space may not grow
 *     t=5 s    4 MiB   16 requests are under way: it may
 *     t=6 s    8 MiB   so many objects survived that V8 doubled it
 *     t=30 s   8 MiB   for KEPT_MS fewer were under way: it may not grow, and V8 gives back what a quiet
 *                      process does not need
 *
 * A process that was started without `--min-semi-space-size` keeps V8's own rule: it may be another program's.
 */
import { setFlagsFromString } from "node:v8";
import { type Clock, systemClock } from "../../storage/base/clock.js";

/** Requests under way whose survivors are worth larger halves. */
const MANY = 8;
const LOOK_MS = 1_000;
/** How long requests count after many were seen: the number at one moment says little. */
const KEPT_MS = 10_000;
const OPTION = "--min-semi-space-size";
/** V8 multiplies by this when so much has survived that it would grow. */
const HELD = 1;
const GROWING = 2;

export interface NewSpaceOptions {
  readonly requestsUnderWay: () => number;
  readonly clock?: Clock;
  readonly setGrowthFactor?: (factor: number) => void;
}

/** To be called as early as can be, as loading objects makes the space grow. Whether it is held. */
export function holdNewSpace(): boolean {
  const isHeld = process.execArgv.some((option) => option.replaceAll("_", "-").startsWith(OPTION));
  if (isHeld) setGrowth(HELD);
  return isHeld;
}

/** Lets a space that is held grow with the requests, until the signal ends it. */
export async function followRequests(
  { requestsUnderWay, clock = systemClock, setGrowthFactor = setGrowth }: NewSpaceOptions,
  signal: AbortSignal,
): Promise<void> {
  let factor = HELD;
  let manyMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal);
    const nowMs = clock.monotonic();
    if (requestsUnderWay() >= MANY) manyMs = nowMs;
    const wanted = nowMs - manyMs < KEPT_MS ? GROWING : HELD;
    if (wanted !== factor) setGrowthFactor(wanted);
    factor = wanted;
  }
}

function setGrowth(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
