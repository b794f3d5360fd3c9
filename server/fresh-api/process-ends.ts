/**
 * ProcessEnds: what is removed when this process ends before it was removed in good order: at `exit`, and at a
 * signal that ends the process because nobody else handles it. SIGKILL cannot be handled: temporary-folder.ts
 * removes at the next start what it left.
 */

const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

export class ProcessEnds {
  readonly #removals = new Set<() => void>();

  /** @param remove synchronous. @returns takes it back */
  add(remove: () => void): () => void {
    if (this.#removals.size === 0) this.#listen();
    this.#removals.add(remove);
    return () => {
      if (this.#removals.delete(remove) && this.#removals.size === 0) this.#ignore();
    };
  }

  #listen(): void {
    process.on("exit", this.#removeAll);
    for (const signal of SIGNALS) process.on(signal, this.#end);
  }

  #ignore(): void {
    process.off("exit", this.#removeAll);
    for (const signal of SIGNALS) process.off(signal, this.#end);
  }

  readonly #removeAll = () => {
    for (const remove of this.#removals) {
      try {
        remove();
      } catch {
        // The others go nevertheless.
      }
    }
    this.#removals.clear();
    this.#ignore();
  };

  /** Whoever handles the signal as well decides whether the process ends. */
  readonly #end = (signal: NodeJS.Signals) => {
    if (process.listenerCount(signal) > 1) return;
    this.#removeAll();
    process.kill(process.pid, signal);
  };
}

/** One for the process, whose listeners are counted. */
export const processEnds = new ProcessEnds();
