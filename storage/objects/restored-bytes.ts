/**
 * RestoredBytes: large past versions that were rebuilt lately. Whoever reads the past reads it in order, and each version
 * is rebuilt from the next one, by up to fifteen others: with them at hand it takes one step instead. Bounded by
 * bytes, and forgotten within seconds.
 */

/** Smaller versions are rebuilt within microseconds. */
const BYTES_MIN = 32 * 1024;
const BYTES_MAX = 12 * 1024 * 1024;
const KEPT_MS = 2_000;

export class RestoredBytes<Version extends object> {
  /** In the order in which they were made. */
  readonly #kept = new Map<Version, Buffer>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  get(version: Version): Buffer | undefined {
    return this.#bytes === 0 ? undefined : this.#kept.get(version);
  }

  keep(version: Version, bytes: Buffer): void {
    if (bytes.length < BYTES_MIN || this.#kept.has(version)) return;
    this.#kept.set(version, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, { length }] of this.#kept) {
      if (this.#bytes <= BYTES_MAX) break;
      this.#kept.delete(oldest);
      this.#bytes -= length;
    }
    this.#timer ??= setTimeout(() => this.#forget(), KEPT_MS).unref();
  }

  #forget(): void {
    this.#timer = undefined;
    this.#kept.clear();
    this.#bytes = 0;
  }
}
