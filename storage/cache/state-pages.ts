/**
 * StatePages: everything below a prefix as of one revision, in pages that grow up to a size. While one page is decoded, the
 * store prepares the next:
 *
 *   store    | page 1 | page 2    | page 3       |
 *   reader            | decodes 1 | decodes 2    | decodes 3 |
 */
import type { KeyValue, RangeResult, Revision, RevisionedStore } from "../kv/store.js";

/** A small page comes soon; in a store that counts what is behind each page, few pages cost less. */
const FIRST_PAGE_KEYS = 1_000;
const PAGE_KEYS_MAX = 5_000;
/** About so many bytes of values, by what the page before had: two pages are in memory, and etcd's cheaper calls take 8 MiB. */
const PAGE_BYTES = 6 * 1024 * 1024;

/** For a first page whose reader comes later; the store has deadlines of its own. */
const NEVER = new AbortController().signal;

export class StatePages {
  readonly #store: RevisionedStore;
  readonly #prefix: string;
  /** Of all pages. */
  readonly revision: Promise<Revision>;
  #limit = FIRST_PAGE_KEYS;
  #next: Promise<RangeResult> | undefined;

  /**
   * Asks for the first page at once.
   * @param after only keys behind it
   * @param signal ends the waits for the revision and for that page
   */
  constructor(
    store: RevisionedStore,
    { prefix, after }: { readonly prefix: string; readonly after?: string },
    signal: AbortSignal = NEVER,
  ) {
    this.#store = store;
    this.#prefix = prefix;
    this.revision = store.currentRevision(signal);
    this.#ask(after === undefined ? {} : { after }, signal);
  }

  /** Call it once. @throws {StorageError} @throws the signal's reason */
  async *pages(signal: AbortSignal): AsyncGenerator<readonly KeyValue[]> {
    for (let asked = this.#next; asked !== undefined; asked = this.#next) {
      const { kvs, more } = await asked;
      signal.throwIfAborted();
      this.#next = undefined;
      const last = kvs.at(-1);
      if (more && last !== undefined) {
        this.#limit = nextLimit(kvs);
        this.#ask({ after: last.key }, signal);
      }
      yield kvs;
    }
  }

  #ask(from: { readonly after?: string }, signal: AbortSignal): void {
    const page = { prefix: this.#prefix, limit: this.#limit, ...from };
    this.#next = this.revision.then((revision) => this.#store.range({ ...page, revision }, signal));
    // Whoever reads the pages is told; perhaps nobody does.
    this.#next.catch(() => {});
  }
}

/** Twice as many keys as on the last page, unless that would be too much. */
function nextLimit(kvs: readonly KeyValue[]): number {
  let bytes = 0;
  for (const { value } of kvs) bytes += value.length;
  const fitting = Math.floor((PAGE_BYTES * kvs.length) / Math.max(bytes, 1));
  return Math.max(1, Math.min(kvs.length * 2, fitting, PAGE_KEYS_MAX));
}
