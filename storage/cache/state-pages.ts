/**
 * StatePages: everything below a prefix as of one revision, in pages that grow. While one page is decoded, the
 * store prepares the next:
 *
 *   store    | page 1 | page 2    | page 3       |
 *   reader            | decodes 1 | decodes 2    | decodes 3 |
 */
import type { KeyValue, RangeResult, Revision, RevisionedStore } from "../kv/store.js";

/** A small page comes soon; in a store that counts what is behind each page, few pages cost less. */
const FIRST_PAGE_KEYS = 500;
/** Two pages of 8 KiB objects take 40 MiB. */
const PAGE_KEYS_MAX = 2_500;

/** For the first page, whose reader comes later; the store has deadlines of its own. */
const NEVER = new AbortController().signal;

export class StatePages {
  readonly #store: RevisionedStore;
  readonly #prefix: string;
  /** Of all pages. */
  readonly revision: Promise<Revision>;
  #limit = FIRST_PAGE_KEYS;
  #next: Promise<RangeResult> | undefined;

  /** Asks for the first page at once. */
  constructor(store: RevisionedStore, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
    this.revision = store.currentRevision(NEVER);
    this.#ask({}, NEVER);
  }

  /** Call it once. @throws {StorageError} @throws the signal's reason */
  async *pages(signal: AbortSignal): AsyncGenerator<readonly KeyValue[]> {
    for (let asked = this.#next; asked !== undefined; asked = this.#next) {
      const { kvs, more } = await asked;
      signal.throwIfAborted();
      this.#next = undefined;
      const last = kvs.at(-1);
      if (more && last !== undefined) this.#ask({ after: last.key }, signal);
      yield kvs;
    }
  }

  #ask(from: { readonly after?: string }, signal: AbortSignal): void {
    const page = { prefix: this.#prefix, limit: this.#limit, ...from };
    this.#limit = Math.min(this.#limit * 2, PAGE_KEYS_MAX);
    this.#next = this.revision.then((revision) => this.#store.range({ ...page, revision }, signal));
    // Whoever reads the pages is told; perhaps nobody does.
    this.#next.catch(() => {});
  }
}
