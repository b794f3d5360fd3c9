/**
 * PeerConducts: looks at the HTTP/2 connections of a listener. All of them at an interval; and as whoever asks for
 * something would wait for a flood, also when somebody asks, though not for every request. One that begins requests is looked
 * at when the turn ends, as long as it sends much: Node.js reads more than a megabyte of each connection in a turn.
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
  /** Those that may flood in this turn. */
  readonly #begun = new Set<PeerConduct>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(conduct: PeerConduct): void {
    this.#conducts.add(conduct);
  }

  remove(conduct: PeerConduct): void {
    this.#conducts.delete(conduct);
    this.#begun.delete(conduct);
  }

  /** A connection has begun a request: what else it sent is looked at before the next turn reads more of it. */
  begun(conduct: PeerConduct): void {
    if (this.#begun.size === 0) setImmediate(this.#endTurn);
    this.#begun.add(conduct);
  }

  readonly #endTurn = (): void => {
    const looked = [...this.#begun];
    this.#begun.clear();
    for (const conduct of looked) if (conduct.glanceAfterTurn()) this.begun(conduct);
  };

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
