/**
 * Cleanup owns the resources opened so far. It closes them in reverse order, each once, and a
 * failure to close one does not keep the others open. `openAll` closes what a function has opened
 * when that function fails half-way.
 */
export class Cleanup implements AsyncDisposable {
  readonly #closers: (() => void | PromiseLike<void>)[] = [];
  #closing: Promise<void> | undefined;

  /** Takes over `opened`: it is closed before everything that was taken over earlier. */
  use<T extends AsyncDisposable>(opened: T): T {
    this.defer(() => opened[Symbol.asyncDispose]());
    return opened;
  }

  /** Registers a resource that is closed by a function. */
  defer(close: () => void | PromiseLike<void>): void {
    this.#closers.push(close);
  }

  /** Concurrent callers wait for the same end. @throws the errors of closing */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.#closers.reverse()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, "several things could not be closed");
    if (errors.length === 1) throw errors[0];
  }
}

/** Runs `open`. When it fails, closes what it has opened and rethrows its error. */
export async function openAll<T>(open: (opened: Cleanup) => Promise<T>): Promise<T> {
  const opened = new Cleanup();
  try {
    return await open(opened);
  } catch (error) {
    // The error of opening matters more than errors of closing.
    await Promise.allSettled([opened[Symbol.asyncDispose]()]);
    throw error;
  }
}
