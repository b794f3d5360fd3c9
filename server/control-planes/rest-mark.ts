/**
 * RestMark: a key of a control plane that says that its loops have nothing to do: the server's own objects are as they have
 * to be, and what follows from all others is done. Whoever loads it then begins with rest, which saves a third of the load.
 *
 *     loops rest, and this process leads     put, with what the server's own objects depend on
 *     something was written                  the loops begin, and delete it first
 *
 * A process that ends between a write and the deletion leaves it: who leads next looks at what was in use.
 */
import { createHash } from "node:crypto";
import type { Operation, RevisionedStore } from "../../storage/kv/store.js";

export interface RestMarkOptions {
  /** The control plane's own. */
  readonly store: RevisionedStore;
  /** With a trailing slash. */
  readonly prefix: string;
  /** What the server's own objects depend on: of another one the mark says nothing. */
  readonly basis: unknown;
}

/** Behind the prefix; no object's. */
const RESTED = ".rested";

export class RestMark {
  readonly #options: RestMarkOptions;
  readonly #digest: string;
  #isThere = false;

  constructor(options: RestMarkOptions) {
    this.#options = options;
    this.#digest = createHash("sha256").update(JSON.stringify(options.basis)).digest("base64url");
  }

  /** Whether it is there, as far as this process knows. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** Looks for it. @throws {StorageError} */
  async read(signal: AbortSignal): Promise<void> {
    const { store, prefix } = this.#options;
    const { kv } = await store.get(prefix + RESTED, {}, signal);
    this.#isThere = kv?.value.toString() === this.#digest;
  }

  /** For the transaction that ends a beginning; `wasPut` is called behind it. */
  toPut(): Operation {
    const { prefix } = this.#options;
    return { type: "put", key: prefix + RESTED, value: Buffer.from(this.#digest) };
  }

  wasPut(): void {
    this.#isThere = true;
  }

  /** @throws {StorageError} */
  async put(signal: AbortSignal): Promise<void> {
    if (this.#isThere) return;
    await this.#options.store.commit({ compares: [], operations: [this.toPut()] }, signal);
    this.wasPut();
  }

  /** @throws {StorageError} */
  async delete(signal: AbortSignal): Promise<void> {
    if (!this.#isThere) return;
    const { store, prefix } = this.#options;
    const operations = [{ type: "delete" as const, key: prefix + RESTED }];
    await store.commit({ compares: [], operations }, signal);
    this.#isThere = false;
  }
}
