/** What one client may do to the others at most (the promise of "One request cannot stop the others"). */
import type { Outcome } from "./scene.js";

export interface Limits {
  /** How long another user waits. */
  readonly waitMs: number;
  /** How long the server's thread works within such a wait. */
  readonly workMs: number;
  readonly grownMiB: number;
  readonly refusalBytes: number;
}

const COMMON = { grownMiB: 256, refusalBytes: 64 * 1024 };

export const LIMITS = {
  /** On a quiet machine of two cores. */
  quiet: { ...COMMON, waitMs: 100, workMs: 100 },
  /** Beside other tests, which take the cores from the server: only its own work counts. */
  shared: { ...COMMON, waitMs: Number.POSITIVE_INFINITY, workMs: 250 },
} as const satisfies Record<string, Limits>;

/** What of the promise the attack broke; "" = it held. */
export function verdictOf(outcome: Outcome, limits: Limits): string {
  const { hasEnded, failed, why, longestMs, longestWorkMs, ownLatenessMs, grownMiB, refusalBytes } =
    outcome;
  const broken: string[] = [];
  if (hasEnded) broken.push("the server ended");
  if (failed > 0) broken.push(`${failed} requests of the bystander failed (${why})`);
  // What the bystander's own process was late is the machine's, not the server's.
  if (longestMs - ownLatenessMs > limits.waitMs) broken.push(`waited ${longestMs.toFixed(0)} ms`);
  if (longestWorkMs > limits.workMs) broken.push(`${longestWorkMs.toFixed(0)} ms of work`);
  if (grownMiB > limits.grownMiB) broken.push(`grew by ${grownMiB} MiB`);
  const faults = outcome.statuses.find(([status]) => status === 500)?.[1] ?? 0;
  if (faults > 0) broken.push(`${faults} answers 500`);
  // A body that nobody reads is no attack: a gate is off, or a type of media was renamed.
  if (outcome.wasUnread) broken.push("no body was read");
  if (refusalBytes > limits.refusalBytes) broken.push(`a refusal of ${refusalBytes} bytes`);
  return broken.join("; ");
}
