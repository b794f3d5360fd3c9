/**
 * Uses of tokens out of Secrets, by day: who removes tokens that nobody uses looks at the day of the last use, which
 * is a label of the Secret. Source: kube-apiserver's pkg/serviceaccount/legacy.go.
 */
import type { Clock } from "../../../storage/base/clock.js";
import type { Naming } from "../../api/naming.js";

export interface LegacyTokenUse {
  readonly namespace: string;
  readonly secretName: string;
  readonly uid: string;
}

const DAY_MS = 24 * 3_600_000;

export class LegacyTokenUses {
  /** The label with the day of the last use. */
  readonly label: string;
  readonly #clock: Clock;
  #onUse: ((use: LegacyTokenUse) => void) | undefined;

  constructor(naming: Naming, clock: Clock) {
    this.label = `${naming.labelDomain}/legacy-token-last-used`;
    this.#clock = clock;
  }

  /** "2026-11-27", in UTC. */
  get today(): string {
    return this.#dayAt(0);
  }

  /** Whether a Secret with these labels was labelled today, here or by a replica whose clock is ahead. */
  isTold(labels: Readonly<Record<string, string>>): boolean {
    const told = labels[this.label];
    return told === this.today || told === this.#dayAt(DAY_MS);
  }

  /** Until somebody listens, uses are forgotten: the token's next one tells again. */
  note(use: LegacyTokenUse, labels: Readonly<Record<string, string>>): void {
    if (this.#onUse !== undefined && !this.isTold(labels)) this.#onUse(use);
  }

  /** @param onUse must be quick and not throw; it hears of one use many times */
  listen(onUse: (use: LegacyTokenUse) => void): void {
    this.#onUse = onUse;
  }

  #dayAt(offsetMs: number): string {
    return new Date(this.#clock.now() + offsetMs).toISOString().slice(0, 10);
  }
}
