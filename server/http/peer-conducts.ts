/**
 * PeerConducts: looks at the HTTP/2 connections of a listener. All of them at an interval; and as whoever asks for
 * something would wait for a flood, also when somebody asks, though not for every request.
 */
import { type Clock, runAtIntervals } from "../../storage/base/clock.js";
import type { PeerConduct } from "./peer-conduct.js";

const LOOK_INTERVAL_MS = 5_000;
/** Time between two glances at all connections, and a further millisecond for so many of them. */
const GLANCE_MS = 20;
const GLANCED_PER_MS = 20;

export class PeerConducts {
  readonly #clock: Clock;
  readonly #conducts = new Set<PeerConduct>();
  #glancedAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(conduct: PeerConduct): void {
    this.#conducts.add(conduct);
  }

  remove(conduct: PeerConduct): void {
    this.#conducts.delete(conduct);
  }

  /** Called for each request. */
  glance(): void {
    const { size } = this.#conducts;
    if (size === 0) return;
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#glancedAtMs < GLANCE_MS + size / GLANCED_PER_MS) return;
    this.#glancedAtMs = nowMs;
    for (const conduct of this.#conducts) conduct.glance();
  }

  /** Looks until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    const look = () => {
      for (const conduct of this.#conducts) conduct.look();
    };
    return runAtIntervals({ clock: this.#clock, intervalMs: LOOK_INTERVAL_MS }, look, signal);
  }
}
