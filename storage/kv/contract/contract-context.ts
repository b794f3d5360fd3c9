/**
 * The context of every contract test: a store, a random prefix of its own, a signal that aborts
 * when the test takes too long, and helpers for the common operations. Nothing here knows which
 * store is under test, or whether others use it too: tests compare revisions and never count them,
 * unless they are promised to be the only writer.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { StorageError, type StorageErrorCode } from "../errors.js";
import {
  type CommitResult,
  type Compare,
  type KeyValue,
  type Operation,
  type RangeRequest,
  type RangeResult,
  type Revision,
  type RevisionedStore,
  type StoreEvent,
  toRevision,
  type WatchBatch,
  type WatchOptions,
} from "../store.js";

/** The arguments of a store's opener. It is called once per test; the test closes the store. */
export interface ContractOptions {
  /** The running test: register clean-up of processes or directories with `test.after`. */
  readonly test: TestContext;
  /** The prefix of all keys of the test, so that tests may share one etcd. Ends with a slash. */
  readonly prefix: string;
}

export type OpenStore = (options: ContractOptions) => Promise<RevisionedStore>;

/** Optional abilities of a store's harness. Tests that need a missing one are left out. */
export interface ContractHooks {
  /**
   * Breaks all connections of the store opened last, once, as a network fault does. Resolves when
   * they are broken; later connections work. Absent where there is no connection to break.
   */
  readonly disconnect?: () => Promise<void>;
  /** Lets the store's time pass by this much. Absent: the tests wait for real time. */
  readonly elapse?: (elapsedMs: number) => Promise<void>;
}

/** One store under test: how it is opened and what else its harness can do. */
export interface ContractSubject {
  readonly openStore: OpenStore;
  readonly hooks: ContractHooks;
}

/** Longer than any healthy answer on a busy machine, so only a hang exceeds it. */
const TEST_TIMEOUT_MS = 30_000;

export interface ContractTestOptions {
  readonly timeoutMs?: number;
}

/** Registers one test of the contract. */
export function contractTest(
  subject: ContractSubject,
  title: string,
  run: (context: ContractContext) => Promise<void>,
  options: ContractTestOptions = {},
): void {
  test(title, async (t) => {
    const prefix = `/contract-${randomBytes(6).toString("hex")}/`;
    const timeoutMs = options.timeoutMs ?? TEST_TIMEOUT_MS;
    // Not AbortSignal.timeout: its timer would let an idle process end before the test does.
    const controller = new AbortController();
    const timer = setTimeout(
      () => controller.abort(new Error(`the test took more than ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      await using store = await subject.openStore({ test: t, prefix });
      await run(new ContractContext(store, prefix, controller.signal));
    } finally {
      clearTimeout(timer);
      controller.abort(new Error("the test is over"));
    }
  });
}

/** One put or delete as a watch shows it, without the parts that differ between runs. */
export type EventSummary = readonly [type: "put" | "delete", key: string, revision: Revision];

export class ContractContext {
  readonly store: RevisionedStore;
  readonly prefix: string;
  /** Aborts when the test takes too long. */
  readonly signal: AbortSignal;

  constructor(store: RevisionedStore, prefix: string, signal: AbortSignal) {
    this.store = store;
    this.prefix = prefix;
    this.signal = signal;
  }

  key(name: string): string {
    return this.prefix + name;
  }

  async commit(
    compares: readonly Compare[],
    operations: readonly Operation[],
  ): Promise<CommitResult> {
    return await this.store.commit({ compares, operations }, this.signal);
  }

  /** Commits without conditions and gives the revision. */
  async write(...operations: Operation[]): Promise<Revision> {
    const result = await this.commit([], operations);
    assert.equal(result.succeeded, true);
    return result.revision;
  }

  async put(name: string, value: string): Promise<Revision> {
    return await this.write(put(this.key(name), value));
  }

  async delete(name: string): Promise<Revision> {
    return await this.write({ type: "delete", key: this.key(name) });
  }

  async get(name: string, revision?: Revision): Promise<KeyValue | undefined> {
    const options = revision === undefined ? {} : { revision };
    return (await this.store.get(this.key(name), options, this.signal)).kv;
  }

  /** The value of a key as text; undefined = no such key. */
  async text(name: string, revision?: Revision): Promise<string | undefined> {
    return (await this.get(name, revision))?.value.toString();
  }

  async range(request: Partial<RangeRequest> = {}): Promise<RangeResult> {
    return await this.store.range({ prefix: this.prefix, ...request }, this.signal);
  }

  /** Names (keys without the test's prefix) in a range. */
  async names(request: Partial<RangeRequest> = {}): Promise<string[]> {
    return (await this.range(request)).kvs.map((kv) => kv.key.slice(this.prefix.length));
  }

  async currentRevision(): Promise<Revision> {
    return await this.store.currentRevision(this.signal);
  }

  /** Opens a watch of the test's prefix that checks each batch against the guarantees. */
  watch(options: Partial<WatchOptions> & { readonly after: Revision }): CheckedWatch {
    return new CheckedWatch(this.store, { prefix: this.prefix, ...options }, this.signal);
  }
}

/**
 * A watch that checks Ordered, Unique and Atomic on every batch, and that no event outside of the
 * prefix is delivered. Tests take batches until they have seen the expected events.
 */
export class CheckedWatch implements AsyncDisposable {
  readonly events: StoreEvent[] = [];
  /** Everything up to and including this revision has been delivered. */
  revision: Revision;
  readonly #prefix: string;
  readonly #iterator: AsyncIterator<WatchBatch>;

  constructor(store: RevisionedStore, options: WatchOptions, signal: AbortSignal) {
    this.revision = options.after;
    this.#prefix = options.prefix;
    this.#iterator = store.watch(options, signal)[Symbol.asyncIterator]();
  }

  /** The next batch, checked. */
  async next(): Promise<WatchBatch> {
    const { done, value } = await this.#iterator.next();
    if (done === true) throw new assert.AssertionError({ message: "the watch ended by itself" });
    const batch: WatchBatch = value;
    let last = this.revision;
    for (const event of batch.events) {
      const revision = revisionOf(event);
      assert.ok(keyOf(event).startsWith(this.#prefix), "a foreign key was delivered");
      // Equal revisions may follow each other only within one batch: that is Atomic.
      const isInOrder = event === batch.events[0] ? revision > last : revision >= last;
      assert.ok(isInOrder, `Ordered, Unique, Atomic: ${revision} after ${last}`);
      last = revision;
    }
    assert.ok(batch.revision >= last, `batch revision ${batch.revision} is below ${last}`);
    this.revision = batch.revision;
    this.events.push(...batch.events);
    return batch;
  }

  /** Takes batches until everything up to `revision` has been delivered. */
  async until(revision: Revision): Promise<readonly StoreEvent[]> {
    while (this.revision < revision) await this.next();
    return this.events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#iterator.return?.();
  }
}

export function put(key: string, value: string | Uint8Array): Operation {
  return { type: "put", key, value: typeof value === "string" ? Buffer.from(value) : value };
}

export function keyOf(event: StoreEvent): string {
  return event.type === "put" ? event.kv.key : event.key;
}

export function revisionOf(event: StoreEvent): Revision {
  return event.type === "put" ? event.kv.modRevision : event.modRevision;
}

export function summaryOf(event: StoreEvent): EventSummary {
  return [event.type, keyOf(event), revisionOf(event)];
}

export function plus(revision: Revision, offset: number): Revision {
  return toRevision(revision + offset);
}

/** Checks that the promise is rejected with a StorageError of that code. */
export async function rejectsWith(code: StorageErrorCode, promise: Promise<unknown>) {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof StorageError, `not a StorageError: ${String(error)}`);
    assert.equal(error.code, code);
    return true;
  });
}
