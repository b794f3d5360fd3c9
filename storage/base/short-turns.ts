/**
 * ShortTurns: lets others have the thread when a loop has worked for some milliseconds. A loop that awaits only what is
 * there already never ends its turn of the event loop by itself.
 *
 *     for (const key of keys) { await turns.yieldIfLong(); look(key); }
 *
 * Loops that run beside each other share one: together they work no longer than one of them may.
 */
import { nextSharedTurn, TURN_MS } from "./next-turn.js";
import type { Steps } from "./steps.js";

export class ShortTurns {
  readonly #clock: { now(): number };
  #sinceMs: number;
  #yielded: Promise<void> | undefined;

  constructor(clock: { now(): number } = performance) {
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  /** The loop was idle, so its turn begins now. */
  begin(): void {
    this.#sinceMs = this.#clock.now();
  }

  /** @returns what to wait for before going on; undefined = nothing */
  yieldIfLong(): Promise<void> | undefined {
    if (this.#yielded === undefined && this.#clock.now() - this.#sinceMs >= TURN_MS) {
      this.#yielded = nextSharedTurn().then(() => {
        this.#yielded = undefined;
        this.begin();
      });
    }
    return this.#yielded;
  }
}

/** Takes all steps, and lets others have the thread between them. */
export async function inShortTurns<Result>(
  steps: Steps<Result>,
  turns = new ShortTurns(),
): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const yielded = turns.yieldIfLong();
    if (yielded !== undefined) await yielded;
  }
}
