/**
 * Lead: whether this process is the one whose control loops work in the control planes. It is one process at a time,
 * elected once for all of them: a lease for each would be a write every two seconds for each.
 */
import { once, setMaxListeners } from "node:events";

export class Lead {
  #leading: AbortSignal | undefined;
  readonly #listeners = new Set<() => void>();

  get isLeading(): boolean {
    return this.#leading !== undefined;
  }

  /** Leads until the signal aborts. */
  async hold(leading: AbortSignal): Promise<void> {
    if (leading.aborted) return;
    setMaxListeners(0, leading);
    this.#leading = leading;
    const ended = once(leading, "abort");
    for (const listener of [...this.#listeners]) listener();
    await ended;
    this.#leading = undefined;
  }

  /** Runs the work whenever this process leads, until the signal aborts. */
  async run(work: (leading: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const leading = this.#leading;
      if (leading !== undefined) await work(AbortSignal.any([leading, signal]));
      else await this.#begun(signal);
    }
  }

  /** Calls it whenever this process begins to lead. @returns ends that */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #begun(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        unsubscribe();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const unsubscribe = this.subscribe(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}
