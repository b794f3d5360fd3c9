/**
 * One watch of the store: an iterator of batches over a chain of etcd watch streams. When a stream
 * ends, the next one starts behind the last complete revision; events of an incomplete revision are
 * discarded. Run by EtcdStore; ends with the signal, with `return`, with the store, or with
 * Compacted.
 *
 * Which revision is complete? etcd sends a revision's events together, or in fragments of one answer.
 * So all revisions below the last event's are complete, and the last one is when no fragment follows.
 * An answer's header may be ahead of pending events, so it counts only in progress notifications, and
 * only from etcd versions whose notifications wait for earlier events.
 *
 * A watch that is opened on an idle store starts at a revision that does not exist yet, and later
 * versions of etcd (3.5.22, 3.6.2) report no progress for such a watch. So until something is written,
 * progress is a read of the store's revision:
 *
 *     opened after 7, the store is at 7   ask -> read gives 7: all up to 7 is here, a batch says so
 *     another tenant writes 8             ask -> read gives 8: from now on etcd is asked for progress
 */

import type { AbortHub } from "../base/abort-hub.js";
import type { Clock } from "../base/clock.js";
import { compareTexts } from "../base/compare-texts.js";
import type { Logger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import type { Revision, StoreEvent, WatchBatch, WatchOptions } from "../kv/store.js";
import { type EndpointPool, unexpectedEnd } from "./endpoint-pool.js";
import { GRPC_STATUS, RpcError, toStorageError } from "./errors.js";
import type { GrpcStream } from "./grpc-calls.js";
import {
  decodeWatch,
  encodeWatchCreate,
  encodeWatchProgress,
  type KeyRange,
  keysOf,
  prefixEnd,
  type WatchAnswer,
} from "./messages.js";
import { hasTrustedProgress } from "./version.js";

const WATCH_PATH = "/etcdserverpb.Watch/Watch";

/** The wait before a stream is opened again; doubles up to the maximum, and starts again on success. */
const REOPEN_WAIT_MS = 50;
const REOPEN_WAIT_MS_MAX = 2_000;

/** Bytes queued for the consumer before etcd is paused; each batch adds this overhead. */
const QUEUED_BYTES_MAX = 16 * 1024 * 1024;
const BATCH_OVERHEAD_BYTES = 1_024;

/**
 * A progress request without an answer for this long counts as lost: etcd drops requests while the
 * watch is still catching up.
 */
const PROGRESS_LOST_MS = 25;

/** A member that stays silent to repeated progress requests is left after this time. */
const SILENT_MS = 2_000;
/** Progress requests further apart than this do not count as one wait. */
const ASKED_AGAIN_MS = 500;

export interface EtcdWatchOptions extends WatchOptions {
  readonly pool: EndpointPool;
  readonly aborts: AbortHub;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The key that is written when progress notifications cannot be trusted. */
  readonly clockKey: string;
  /** Asks for a write of the clock key. */
  readonly requestClock: () => void;
  /** A linearizable revision read. */
  readonly currentRevision: (signal: AbortSignal) => Promise<Revision>;
  readonly onEnd: (watch: EtcdWatch) => void;
}

interface QueuedBatch {
  readonly batch: WatchBatch;
  readonly bytes: number;
}

interface Waiter {
  resolve(result: IteratorResult<WatchBatch>): void;
  reject(error: unknown): void;
}

export class EtcdWatch implements AsyncIterator<WatchBatch> {
  readonly #options: EtcdWatchOptions;
  readonly #signal: AbortSignal;
  readonly #ended = new AbortController();
  #delivered: Revision;
  #queue: QueuedBatch[] = [];
  #queuedBytes = 0;
  readonly #waiters: Waiter[] = [];
  /** The reason why `next` rejects once the queue is empty; `undefined` in it = a normal end. */
  #end: { readonly error: unknown } | undefined;
  #stream: GrpcStream | undefined;
  #abandonStream: () => void = () => {};
  #isPaused = false;
  #isTrusted = false;
  #isCreated = false;
  /** Whether the stream's first revision may not exist yet, and whether a read is finding out. */
  #isAtHead = false;
  #isReadingHead = false;
  /** The cluster of the first stream. */
  #clusterId: string | undefined;
  /** When the progress request under way was sent, and whether another was requested since. */
  #progressSentAt: number | undefined;
  #isProgressWanted = false;
  /** Since when the member has not answered progress requests. */
  #silentSince: number | undefined;
  #askedAt = 0;
  /** Events of a revision that may continue in the next fragment. */
  #partial: StoreEvent[] = [];
  #reopenWaitMs = REOPEN_WAIT_MS;

  constructor(options: EtcdWatchOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#delivered = options.after;
  }

  /** Keeps a stream open until the watch ends. Never rejects. */
  async run(): Promise<void> {
    const abortable = { abort: (reason: unknown) => this.fail(reason, { isUrgent: true }) };
    if (this.#signal.aborted) return abortable.abort(this.#signal.reason);
    const place = this.#options.aborts.add(this.#signal, abortable);
    try {
      while (this.#end === undefined) await this.#runStream();
    } finally {
      this.#options.aborts.delete(this.#signal, place);
    }
  }

  next(): Promise<IteratorResult<WatchBatch>> {
    const queued = this.#queue.shift();
    if (queued !== undefined) {
      this.#queuedBytes -= queued.bytes;
      if (this.#isPaused && this.#queuedBytes <= QUEUED_BYTES_MAX / 2) {
        this.#isPaused = false;
        this.#stream?.resume();
      }
      return Promise.resolve({ done: false, value: queued.batch });
    }
    if (this.#end !== undefined) return this.#ending(this.#end);
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<WatchBatch>> {
    this.fail(undefined, { isUrgent: true });
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the watch: at once if urgent, else after the batches already received. */
  fail(error: unknown, options: { readonly isUrgent: boolean }): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    if (options.isUrgent) this.#queue = [];
    this.#stream?.close();
    this.#abandonStream();
    this.#ended.abort(error);
    this.#options.onEnd(this);
    for (const waiter of this.#waiters.splice(0)) {
      this.#ending(this.#end).then(waiter.resolve, waiter.reject);
    }
  }

  /** Asks for a batch that reaches the store's current revision. May be lost. */
  requestProgress(): void {
    if (!this.#isCreated) this.#isProgressWanted = true;
    else if (this.#isAtHead && this.#isTrusted) void this.#readHead();
    else if (this.#isMemberSilent()) this.#abandonStream();
    else if (!this.#isTrusted) this.#options.requestClock();
    else if (this.#isProgressPending()) this.#isProgressWanted = true;
    else this.#sendProgress();
  }

  #ending(end: { readonly error: unknown }): Promise<IteratorResult<WatchBatch>> {
    if (end.error === undefined) return Promise.resolve({ done: true, value: undefined });
    return Promise.reject(end.error);
  }

  /** Opens one stream, waits for its end, and pauses before the next. */
  async #runStream(): Promise<void> {
    const { pool, logger, clock } = this.#options;
    try {
      const ended = await this.#openStream(pool);
      throw ended.status === GRPC_STATUS.ok ? unexpectedEnd() : ended;
    } catch (error) {
      this.#stream?.close();
      this.#stream = undefined;
      this.#isCreated = false;
      this.#isAtHead = false;
      this.#isPaused = false;
      this.#progressSentAt = undefined;
      this.#silentSince = undefined;
      this.#partial = [];
      if (this.#end !== undefined) return;
      if (!(error instanceof RpcError && (error.isTransient || error.needsNewToken))) {
        return this.fail(toStorageError(error, false), { isUrgent: false });
      }
      if (error.needsNewToken) pool.invalidateToken();
      logger.debug({ err: error, after: this.#delivered }, "a watch lost its stream");
    }
    const waitMs = this.#reopenWaitMs;
    this.#reopenWaitMs = Math.min(waitMs * 2, REOPEN_WAIT_MS_MAX);
    await clock.sleep(waitMs, this.#ended.signal).catch(() => {});
  }

  /** Resolves with the stream's end. */
  async #openStream(pool: EndpointPool): Promise<RpcError> {
    let onEnd: (status: RpcError) => void = () => {};
    const ended = new Promise<RpcError>((resolve) => {
      onEnd = resolve;
    });
    // A stream that we closed ourselves calls no handler.
    this.#abandonStream = () => onEnd(unexpectedEnd());
    const { stream, url } = await pool.openStream(
      WATCH_PATH,
      ({ version, clusterId }) => {
        this.#clusterId ??= clusterId;
        if (clusterId !== this.#clusterId) throw historyLost("another cluster answers");
        this.#isTrusted = version !== undefined && hasTrustedProgress(version);
        return {
          onMessage: (message) => {
            try {
              const failure = this.#receive(decodeWatch(message), message.length);
              if (failure !== undefined) onEnd(failure);
            } catch (error) {
              this.fail(toStorageError(error, false), { isUrgent: false });
            }
          },
          onEnd,
        };
      },
      this.#ended.signal,
    );
    if (this.#end !== undefined) stream.close();
    this.#stream = stream;
    this.#abandonStream = () => {
      const reason = unexpectedEnd();
      if (this.#end === undefined) pool.leave(url, reason);
      onEnd(reason);
    };
    stream.send(
      encodeWatchCreate({
        ...this.#keys(),
        startRevision: this.#delivered + 1,
        withPrevious: this.#options.withPrevious ?? false,
      }),
    );
    return await ended;
  }

  /**
   * The keys to watch: those of the prefix and, if progress comes by the clock key, that one too
   * with all keys in between (filtered on arrival). It is one range and not two watches, because
   * etcd promises the order that completeness needs only within one watch.
   */
  #keys(): KeyRange {
    const { prefix, unwanted } = this.#options;
    const keys = keysOf(prefix);
    if (unwanted !== undefined) keys.key = prefixEnd(unwanted).toString();
    if (this.#isTrusted) return keys;
    const { clockKey } = this.#options;
    const key = compareTexts(clockKey, keys.key) < 0 ? clockKey : keys.key;
    const clockEnd = Buffer.from(`${clockKey}\0`);
    const end = prefixEnd(this.#options.prefix);
    const isAll = end.length === 1 && end[0] === 0;
    return { key, end: isAll || Buffer.compare(end, clockEnd) > 0 ? end : clockEnd };
  }

  /** @returns the reason when the stream cannot continue */
  #receive(answer: WatchAnswer, bytes: number): RpcError | undefined {
    this.#silentSince = undefined;
    if (answer.isCanceled) return this.#receiveCancel(answer);
    if (answer.isCreated) {
      this.#isCreated = true;
      this.#reopenWaitMs = REOPEN_WAIT_MS;
      this.#isAtHead = answer.revision <= this.#delivered;
      if (answer.revision < this.#delivered) void this.#checkHistory();
      if (this.#isProgressWanted) {
        this.#isProgressWanted = false;
        this.requestProgress();
      }
      return undefined;
    }
    if (answer.events.length === 0 && !answer.isFragment && this.#partial.length === 0) {
      this.#receiveProgress(answer.revision);
    } else {
      this.#receiveEvents(answer, bytes);
    }
    return undefined;
  }

  /**
   * The member's revision is below what was delivered. The member may lag; but if the whole cluster
   * does, it was restored to an older state, and later events belong to another history.
   */
  async #checkHistory(): Promise<void> {
    const delivered = this.#delivered;
    try {
      if ((await this.#options.currentRevision(this.#ended.signal)) >= delivered) return;
    } catch {
      // The next stream checks again.
      return this.#abandonStream();
    }
    this.fail(historyLost(`its revision went back behind ${delivered}`), { isUrgent: true });
  }

  /** Progress of a watch that starts at the head: a read that begins after the request. */
  async #readHead(): Promise<void> {
    this.#isProgressWanted = true;
    if (this.#isReadingHead) return;
    this.#isReadingHead = true;
    try {
      while (this.#isProgressWanted && this.#isAtHead && this.#end === undefined) {
        this.#isProgressWanted = false;
        const revision = await this.#options.currentRevision(this.#ended.signal);
        if (!this.#isAtHead || this.#end !== undefined) return;
        if (revision > this.#delivered) {
          this.#isAtHead = false;
          this.#sendProgress();
        } else {
          this.#deliver(this.#delivered, [], 0);
        }
      }
    } catch {
      // A lost progress request: callers repeat it.
    } finally {
      this.#isReadingHead = false;
    }
  }

  #receiveCancel(answer: WatchAnswer): RpcError | undefined {
    if (answer.compactRevision > 0) {
      const message = `events after revision ${this.#delivered} are compacted`;
      // etcd keeps the compacted revision's own state but not the events that led to it.
      const compactedTo = answer.compactRevision;
      this.fail(new StorageError("Compacted", message, { compactedTo }), { isUrgent: false });
      return undefined;
    }
    const reason = answer.cancelReason;
    const isRefusal = /permission denied|PermissionDenied/.test(reason);
    return new RpcError(
      isRefusal ? GRPC_STATUS.permissionDenied : GRPC_STATUS.unavailable,
      reason,
      {
        isSent: true,
      },
    );
  }

  #receiveProgress(revision: Revision): void {
    this.#progressSentAt = undefined;
    if (!this.#isTrusted) return;
    // A member that lags behind the previous one reports a smaller revision, which is ignored.
    if (revision >= this.#delivered) this.#deliver(revision, [], 0);
    if (this.#isProgressWanted) {
      this.#isProgressWanted = false;
      this.#sendProgress();
    }
  }

  #receiveEvents(answer: WatchAnswer, bytes: number): void {
    const events = this.#partial;
    this.#partial = [];
    // A member behind our start revision may send older events (etcd issue 20221).
    for (const event of answer.events) {
      if (revisionOf(event) > this.#delivered) events.push(event);
    }
    const last = events.at(-1);
    if (last === undefined) return;
    this.#isAtHead = false;
    const revision = revisionOf(last);
    if (answer.isFragment) {
      const complete = events.findLastIndex((event) => revisionOf(event) < revision) + 1;
      this.#partial = events.splice(complete);
      const lastComplete = events.at(-1);
      if (lastComplete === undefined) return;
      this.#deliver(revisionOf(lastComplete), this.#ownEvents(events), bytes);
    } else {
      this.#deliver(revision, this.#ownEvents(events), bytes);
    }
  }

  /** Drops keys between prefix and clock key; the clock's own event only counts as a revision. */
  #ownEvents(events: readonly StoreEvent[]): readonly StoreEvent[] {
    if (this.#isTrusted) return events;
    const { prefix, clockKey, unwanted } = this.#options;
    return events.filter((event) => {
      const key = event.type === "put" ? event.kv.key : event.key;
      const isWanted = unwanted === undefined || !key.startsWith(unwanted);
      return isWanted && key.startsWith(prefix) && key !== clockKey;
    });
  }

  #deliver(revision: Revision, events: readonly StoreEvent[], contentBytes: number): void {
    this.#delivered = revision;
    const batch: WatchBatch = { revision, events };
    const bytes = contentBytes + BATCH_OVERHEAD_BYTES;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: batch });
      return;
    }
    // Of consecutive progress notifications only the latest matters.
    const previous = this.#queue.at(-1);
    if (events.length === 0 && previous?.batch.events.length === 0) {
      this.#queue.pop();
      this.#queuedBytes -= previous.bytes;
    }
    this.#queue.push({ batch, bytes });
    this.#queuedBytes += bytes;
    if (this.#queuedBytes > QUEUED_BYTES_MAX && !this.#isPaused) {
      this.#isPaused = true;
      this.#stream?.pause();
    }
  }

  /** Sooner than the connection's keepalive, as a caller waits. */
  #isMemberSilent(): boolean {
    const now = this.#options.clock.monotonic();
    if (this.#silentSince === undefined || now - this.#askedAt > ASKED_AGAIN_MS) {
      this.#silentSince = now;
    }
    this.#askedAt = now;
    return now - this.#silentSince >= SILENT_MS;
  }

  #isProgressPending(): boolean {
    const sentAt = this.#progressSentAt;
    return sentAt !== undefined && this.#options.clock.monotonic() - sentAt < PROGRESS_LOST_MS;
  }

  #sendProgress(): void {
    this.#progressSentAt = this.#options.clock.monotonic();
    this.#stream?.send(encodeWatchProgress());
  }
}

/** Watchers see it as Compacted: their state leads nowhere. */
function historyLost(how: string): StorageError {
  return new StorageError("Compacted", `etcd's history is no longer the same: ${how}`);
}

function revisionOf(event: StoreEvent): Revision {
  return event.type === "put" ? event.kv.modRevision : event.modRevision;
}
