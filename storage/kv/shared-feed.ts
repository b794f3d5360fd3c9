/**
 * SharedFeed: one watch of the store for many registries that lie below one prefix.
 *
 * The registry above is fed by the store's watch, as if it were alone. Events of the registries below it are
 * taken out on the way, by their key, and given to the one that they are of, if somebody reads it; else they
 * are dropped, for the price of a look at the key:
 *
 *     store ── watch /registry/ ──┬── /registry/core/...                      the registry above
 *                                 ├── /registry/.control-planes/7c.../...     its part, open
 *                                 └── /registry/.control-planes/01.../...     nobody reads it
 *
 * A part is told that time has passed only when it asks, or with all others now and then (`tellAll`): else each
 * write of one would wake all of them.
 *
 * What happened in a part before it was loaded is read key by key, as the feed has seen which ones changed: a watch from
 * the past would make etcd read what all parts wrote since, for each of a thousand that are loaded behind a restart.
 */
import { StorageError } from "./errors.js";
import { PartFeed } from "./part-feed.js";
import { readChanges } from "./read-changes.js";
import { RecentChanges } from "./recent-changes.js";
import type { Revision, RevisionedStore, StoreEvent, WatchBatch, WatchOptions } from "./store.js";

export interface SharedFeedOptions {
  readonly store: RevisionedStore;
  /** The prefix of the registry above, with a trailing slash. */
  readonly prefix: string;
  /** The prefix of all parts; a part's name follows, and a slash. */
  readonly partsPrefix: string;
}

/** Told of an event of a part that is not open: its name, and the event's key behind the part's prefix. Must be quick. */
export type UnreadListener = (name: string, key: string, isDeletion: boolean) => void;

/** The store of one part. Closing it ends only its feed, and refuses whatever is asked of it later. */
export interface PartStore extends RevisionedStore {
  /** The prefix of its keys, with a trailing slash. */
  readonly prefix: string;
  /** It had no content before: what is asked as of an earlier revision is refused, as if that were compacted. */
  beganAt(revision: Revision): void;
}

interface PastParts {
  readonly name: string;
  readonly fresh: () => Promise<Revision>;
  readonly refusal: () => StorageError | undefined;
}

export class SharedFeed {
  /** For the registry above. Its watch without previous values is the feed. */
  readonly store: RevisionedStore;
  readonly #store: RevisionedStore;
  readonly #partsPrefix: string;
  readonly #parts = new Map<string, PartFeed>();
  readonly #recent = new RecentChanges();
  #unread: UnreadListener = () => {};
  /** All events up to it have been given to the parts. */
  #revision = 0 as Revision;
  #dropped = 0;

  constructor({ store, prefix, partsPrefix }: SharedFeedOptions) {
    this.#store = store;
    this.#partsPrefix = partsPrefix;
    this.store = withWatch(store, (options, signal) => {
      if (options.prefix !== prefix) return store.watch(options, signal);
      // Of the past it wants its own: a thousand new parts may have written a hundred times as much.
      if (options.withPrevious === true) {
        return store.watch({ ...options, unwanted: partsPrefix }, signal);
      }
      return this.#follow(store.watch(options, signal), options.after);
    });
  }

  /** How many parts are open. */
  get open(): number {
    return this.#parts.size;
  }

  /** One listener, for events of parts that are not open. */
  onUnread(listener: UnreadListener): void {
    this.#unread = listener;
  }

  /** Events of parts that nobody reads. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Opens a part. From now on its events are kept for its watch.
   * @param name no slash in it; not open yet
   * @param fresh gives a revision that the registry above has reached, and that covers all that was acknowledged
   */
  part(name: string, fresh: () => Promise<Revision>): PartStore {
    const store = this.#store;
    const prefix = `${this.#partsPrefix}${name}/`;
    const feed = new PartFeed(this.#revision);
    this.#parts.set(name, feed);
    let began = 0;
    let isClosed = false;
    /** Why it cannot be asked for what it had at a revision. */
    const refusal = (revision: number = began): StorageError | undefined => {
      if (isClosed) return new StorageError("Closed", "the part of the store is closed");
      if (revision >= began) return undefined;
      const why = `revision ${revision} is from before its beginning`;
      return new StorageError("Compacted", why, { compactedTo: began });
    };
    const ask = <T>(revision: Revision | undefined, from: () => Promise<T>): Promise<T> => {
      const error = refusal(revision);
      return error === undefined ? from() : Promise.reject(error);
    };
    const past = (options: WatchOptions, signal: AbortSignal) =>
      this.#past({ name, fresh, refusal: () => refusal(options.after) }, options, signal);
    const watch = (options: WatchOptions, signal: AbortSignal) => {
      if (options.prefix !== prefix) return store.watch(options, signal);
      return options.withPrevious === true
        ? past(options, signal)
        : feed.read(options.after, signal);
    };
    return Object.assign(withWatch(store, watch), {
      prefix,
      beganAt(revision: Revision) {
        began = revision;
      },
      get: (...[key, options, signal]: Parameters<RevisionedStore["get"]>) =>
        ask(options.revision, () => store.get(key, options, signal)),
      range: (...[request, signal]: Parameters<RevisionedStore["range"]>) =>
        ask(request.revision, () => store.range(request, signal)),
      commit: (...[transaction, signal]: Parameters<RevisionedStore["commit"]>) =>
        ask(undefined, () => store.commit(transaction, signal)),
      currentRevision: async () => {
        const revision = await fresh();
        feed.tell(this.#revision);
        return revision;
      },
      requestProgress: () => {
        if (!feed.tell(this.#revision)) store.requestProgress();
      },
      [Symbol.asyncDispose]: async () => {
        isClosed = true;
        feed.end(new StorageError("Closed", "the part of the store is closed"));
        this.#parts.delete(name);
      },
    });
  }

  /** Tells all parts how far the feed is, so that the bookmarks of their quiet watches move. */
  tellAll(): void {
    for (const feed of this.#parts.values()) feed.tell(this.#revision);
  }

  /** The events of a part with their previous values, for whoever loads it: those up to now, where they are known. */
  async *#past(
    { name, fresh, refusal }: PastParts,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch> {
    await fresh();
    const error = refusal();
    if (error !== undefined) throw error;
    const until = this.#revision;
    const changes = this.#recent.since(name, options.after);
    if (changes === undefined) yield* this.#store.watch(options, signal);
    else yield* await readChanges(this.#store, changes, until, signal);
  }

  #follow(watch: AsyncIterable<WatchBatch>, after: Revision): AsyncIterable<WatchBatch> {
    // What lies between was never seen: the parts have to load anew, as the registry above does.
    if (after !== this.#revision) {
      for (const feed of this.#parts.values()) feed.lose(after);
      this.#recent.reset(after);
    }
    this.#revision = after;
    return { [Symbol.asyncIterator]: () => this.#splitBatches(watch[Symbol.asyncIterator]()) };
  }

  /** Written by hand: a generator would add two promises for each batch of the feed. */
  #splitBatches(batches: AsyncIterator<WatchBatch>): AsyncIterator<WatchBatch> {
    const split = (result: IteratorResult<WatchBatch>): IteratorResult<WatchBatch> =>
      result.done ? result : { done: false, value: this.#split(result.value) };
    return {
      next: () => batches.next().then(split),
      return: async () => (await batches.return?.()) ?? { done: true, value: undefined },
    };
  }

  /** @returns the batch itself where no event is of a part */
  #split(batch: WatchBatch): WatchBatch {
    const { events, revision } = batch;
    this.#revision = revision;
    if (!events.some((event) => this.#isOfPart(event))) return batch;
    const own: StoreEvent[] = [];
    const touched = new Set<PartFeed>();
    for (const event of events) {
      if (!this.#isOfPart(event)) {
        own.push(event);
        continue;
      }
      const key = keyOf(event);
      const start = this.#partsPrefix.length;
      const end = key.indexOf("/", start);
      const name = key.slice(start, end);
      const isDeletion = event.type === "delete";
      const changed = isDeletion ? event.modRevision : event.kv.modRevision;
      this.#recent.saw(name, { key, revision: changed, isDeletion });
      const feed = this.#parts.get(name);
      if (feed === undefined) {
        this.#dropped++;
        this.#unread(name, key.slice(end + 1), isDeletion);
        continue;
      }
      feed.take(event);
      touched.add(feed);
    }
    for (const feed of touched) feed.deliver(revision);
    return { revision, events: own };
  }

  #isOfPart(event: StoreEvent): boolean {
    return keyOf(event).startsWith(this.#partsPrefix);
  }
}

function keyOf(event: StoreEvent): string {
  return event.type === "put" ? event.kv.key : event.key;
}

/** The store with another watch; everything else is its own. */
function withWatch(store: RevisionedStore, watch: RevisionedStore["watch"]): RevisionedStore {
  return {
    get: (key, options, signal) => store.get(key, options, signal),
    range: (request, signal) => store.range(request, signal),
    commit: (transaction, signal) => store.commit(transaction, signal),
    currentRevision: (signal) => store.currentRevision(signal),
    watch,
    requestProgress: () => store.requestProgress(),
    lease: (ttlSeconds, signal) => store.lease(ttlSeconds, signal),
    compact: (revision, signal) => store.compact(revision, signal),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
