/**
 * Cleanup owns what has been opened so far: it is closed in reverse order, each thing once, and one
 * that fails to close keeps none of the others open. With `openAll` a function that opens one thing
 * after the other leaves nothing behind when it fails half-way.
 */
export class Cleanup implements AsyncDisposable {
  readonly #closers: (() => void | PromiseLike<void>)[] = [];
  #closing: Promise<void> | undefined;

  /** Takes over `opened`: it is closed before everything that was taken over earlier. */
  use<T extends AsyncDisposable>(opened: T): T {
    this.defer(() => opened[Symbol.asyncDispose]());
    return opened;
  }

  /** The same for what is closed in another way. */
  defer(close: () => void | PromiseLike<void>): void {
    this.#closers.push(close);
  }

  /** Callers while it closes wait for the same end. @throws what could not be closed */
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

/** Runs `open`. When it fails, what it has opened until then is closed, and its error is thrown. */
export async function openAll<T>(open: (opened: Cleanup) => Promise<T>): Promise<T> {
  const opened = new Cleanup();
  try {
    return await open(opened);
  } catch (error) {
    // Why it could not be opened says more than what closing has to say on top of it.
    await Promise.allSettled([opened[Symbol.asyncDispose]()]);
    throw error;
  }
}
