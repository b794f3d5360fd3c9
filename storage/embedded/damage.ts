/**
 * Damage: records of the embedded store that do not match their checksum. Each is found by whoever reads it, and
 * costs that record only: a value becomes a note with the reason (kv/unreadable.ts), as one that cannot be
 * decrypted does. lmdb has no checksums of its own, so damage of its inner pages may end a read or the process.
 */
import type { Logger } from "../base/logger.js";

/** Keys that are remembered, so that each is logged once. */
const LOGGED_KEYS_MAX = 1000;

/** What stands in place of a damaged value. */
export const DAMAGED_VALUE = "the stored bytes do not match their checksum";

export class Damage {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();
  #found = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** How often a damaged record was met. */
  get found(): number {
    return this.#found;
  }

  note(table: string, key: string): void {
    this.#found++;
    const name = `${table} ${key}`;
    if (this.#logged.has(name) || this.#logged.size >= LOGGED_KEYS_MAX) return;
    this.#logged.add(name);
    const text = "a record of the embedded store is damaged: its bytes do not match their checksum";
    this.#logger.error({ table, key }, text);
  }
}
