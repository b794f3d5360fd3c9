/**
 * Cleanup owns the resources opened so far. It closes them in reverse order, each once, and a
 * failure to close one does not keep the others open, nor does one that takes for ever. `openAll`
 * closes what a function has opened when that function fails half-way.
 */
import { type Clock, systemClock } from "./clock.js";
import { isOverWithin } from "./is-over-within.js";

/** Whatever closes waits for what has a bound itself, and ends well within this. */
export const CLOSE_MS_MAX = 15_000;

interface Closer {
  readonly close: () => void | PromiseLike<void>;
  readonly name: string;
  readonly msMax: number;
}

export class Cleanup implements AsyncDisposable {
  readonly #closers: Closer[] = [];
  readonly #clock: Clock;
  #closing: Promise<void> | undefined;
  #waitsFor: string | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** What is being closed; undefined = nothing. */
  get waitsFor(): string | undefined {
    return this.#waitsFor;
  }

  /**
   * Takes over `opened`: it is closed before everything that was taken over earlier.
   * @param msMax after it the next one is closed; infinite for what is made of parts that have a bound each
   */
  use<T extends AsyncDisposable>(
    opened: T,
    name = opened.constructor.name,
    msMax = CLOSE_MS_MAX,
  ): T {
    this.defer(() => opened[Symbol.asyncDispose](), name, msMax);
    return opened;
  }

  /** Registers a resource that is closed by a function. */
  defer(close: () => void | PromiseLike<void>, name = "a part", msMax = CLOSE_MS_MAX): void {
    this.#closers.push({ close, name, msMax });
  }

  /** Concurrent callers wait for the same end. @throws the errors of closing */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    const errors: unknown[] = [];
    for (const closer of this.#closers.reverse()) {
      this.#waitsFor = closer.name;
      try {
        await this.#closeOne(closer);
      } catch (error) {
        errors.push(error);
      }
    }
    this.#waitsFor = undefined;
    if (errors.length > 1) throw new AggregateError(errors, "several things could not be closed");
    if (errors.length === 1) throw errors[0];
  }

  /** @throws {Error} of closing, or that it takes too long */
  async #closeOne({ close, name, msMax }: Closer): Promise<void> {
    const closing = close();
    if (closing === undefined || msMax === Number.POSITIVE_INFINITY) return await closing;
    if (await isOverWithin(closing, msMax, this.#clock)) return;
    throw new Error(`${name} was not closed within ${msMax / 1_000} s`);
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
