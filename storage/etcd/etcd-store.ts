/**
 * EtcdStore: RevisionedStore over an etcd v3 cluster, with our own message encoding. Unary calls use connections of our own,
 * watches use grpc-js, and log-in uses etcd3 (reasons in docs/dev/decisions/0003-etcd-client.md, figures in
 * 0022-lean-etcd-calls.md).
 *
 * Values in answers are views of the received message: copy them to keep them for long.
 *
 * On etcd before 3.4.31 and 3.5.13 progress notifications can run ahead of events. There
 * `requestProgress` writes a clock key, a sibling of the prefix ("/registry.clock"); watches report
 * it as progress, and no range over the prefix contains it. With user and password the role must
 * cover it: grant the prefix "/registry" without a trailing slash.
 */
import { setMaxListeners } from "node:events";
import { AbortHub } from "../base/abort-hub.js";
import type { Clock } from "../base/clock.js";
import { Lifecycle, type TaskObserver } from "../base/lifecycle.js";
import type { Logger } from "../base/logger.js";
import { traceOf } from "../base/trace.js";
import { withoutTrailingSlashes } from "../base/trailing-slashes.js";
import { StorageError } from "../kv/errors.js";
import type {
  CommitResult,
  KeyValue,
  LeaseId,
  RangeRequest,
  RangeResult,
  Revision,
  RevisionedStore,
  Transaction,
  WatchBatch,
  WatchOptions,
} from "../kv/store.js";
import { ClockWriter } from "./clock-writer.js";
import type { ConnectionPurpose, EtcdKeepalive, UnaryRequest } from "./connection.js";
import { EndpointPool } from "./endpoint-pool.js";
import { GRPC_STATUS, RpcError, toStorageError } from "./errors.js";
import { Etcd3LogIn, type EtcdCredentials } from "./etcd3-log-in.js";
import { SharedLeases } from "./leases.js";
import {
  decodeLeaseGrant,
  decodeRange,
  decodeTxn,
  encodeCompaction,
  encodeLeaseGrant,
  encodeRange,
  encodeTxn,
  keysOf,
  type RangeAnswer,
  type RangeCall,
} from "./messages.js";
import { settleNoSpace } from "./no-space.js";
import type { EtcdTls } from "./tls.js";
import { hasTrustedProgress, isSupported } from "./version.js";
import { EtcdWatch } from "./watch.js";

export type { EtcdKeepalive } from "./connection.js";
export type { EtcdCredentials } from "./etcd3-log-in.js";
export type { EtcdTls } from "./tls.js";

/**
 * The connections for unary calls: "lean" is our own HTTP/2 client, with grpc-js for everything else;
 * "grpc" is grpc-js for everything.
 */
export type EtcdTransport = "lean" | "grpc";

/** The kinds of calls that the metric etcd_request_duration_seconds distinguishes. */
export type EtcdOperation = "get" | "list" | "txn" | "revision" | "lease" | "compact" | "clock";

/** The names of etcd's own spans, which these enclose. */
const SPAN_NAMES: Readonly<Record<EtcdOperation, string>> = {
  get: "etcdserverpb.KV/Range",
  list: "etcdserverpb.KV/Range",
  revision: "etcdserverpb.KV/Range",
  txn: "etcdserverpb.KV/Txn",
  clock: "etcdserverpb.KV/Txn",
  lease: "etcdserverpb.Lease/LeaseGrant",
  compact: "etcdserverpb.KV/Compact",
};
const SPAN_ATTRIBUTES = Object.freeze({ "rpc.system": "grpc" });

/** The outcome of a call. */
export interface EtcdCall {
  /** The StorageError's code, or "Aborted". */
  readonly error?: string;
  /** The id of the exported trace that it is part of. */
  readonly traceId?: string | undefined;
}

const GOOD_CALL: EtcdCall = Object.freeze({});

export interface EtcdStoreOptions {
  /** "http://host:2379" or "https://host:2379"; without a scheme https when `tls` is given. */
  readonly endpoints: readonly string[];
  /** The prefix of all keys of the store; only the clock key is derived from it ("/registry"). */
  readonly prefix: string;
  readonly tls?: EtcdTls;
  readonly credentials?: EtcdCredentials;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of background tasks that fail. */
  readonly tasks?: TaskObserver;
  /** How long connecting to one member may take. Default 3 s. */
  readonly dialTimeoutMs?: number;
  /** Default "lean". */
  readonly transport?: EtcdTransport;
  /** When a silent member is given up. Default: a ping every 5.5 s, lost after 2.5 s. */
  readonly keepalive?: EtcdKeepalive;
  /** Called after every call. */
  readonly onRequest?: (operation: EtcdOperation, durationMs: number, call: EtcdCall) => void;
}

const DIAL_TIMEOUT_MS = 3_000;

/** etcd accepts a ping every 5 s; the extra half second absorbs jitter. */
const KEEPALIVE: EtcdKeepalive = { intervalMs: 5_500, timeoutMs: 2_500 };

/** The longest timer possible: it only keeps the process alive. */
const HOLD_MS = 2 ** 31 - 1;

const RANGE_PATH = "/etcdserverpb.KV/Range";
const TXN_PATH = "/etcdserverpb.KV/Txn";
const COMPACT_PATH = "/etcdserverpb.KV/Compact";
const LEASE_GRANT_PATH = "/etcdserverpb.Lease/LeaseGrant";

/**
 * Connects and checks the cluster: at least one member answers, all that answer belong to one
 * cluster and have a supported version, and the revision is within the safe integer range.
 * @throws {StorageError} Refused, Unavailable
 */
export async function openEtcdStore(
  options: EtcdStoreOptions,
  signal: AbortSignal,
): Promise<EtcdStore> {
  const store = new EtcdStore(options);
  try {
    await store.check(signal);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

function isLate(failure: unknown): boolean {
  if (!(failure instanceof RpcError)) return false;
  return failure.status === GRPC_STATUS.deadlineExceeded || isLate(failure.cause);
}

export class EtcdStore implements RevisionedStore {
  readonly #lifecycle: Lifecycle;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onRequest: EtcdStoreOptions["onRequest"];
  readonly #logIn: Etcd3LogIn;
  readonly #calls: EndpointPool;
  /** Watches have separate connections, so that a long list never delays an event. */
  readonly #streams: EndpointPool;
  readonly #watches = new Set<EtcdWatch>();
  readonly #aborts = new AbortHub();
  readonly #leases: SharedLeases;
  readonly #prefix: string;
  readonly #clockKey: string;
  readonly #clockWriter: ClockWriter;
  readonly #revisionRequest: UnaryRequest;
  /**
   * Keeps the process alive while the store is open: between two connections grpc-js holds nothing
   * that would, and callers may be waiting for the next one.
   */
  readonly #hold: NodeJS.Timeout;

  /** Use openEtcdStore, which also checks. */
  constructor(options: EtcdStoreOptions) {
    const { clock, logger, tls } = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#onRequest = options.onRequest;
    this.#lifecycle = new Lifecycle(logger, options.tasks);
    // Any number of watches and waits may listen to it; that is not a leak.
    setMaxListeners(0, this.#lifecycle.signal);
    const urls = options.endpoints.map((endpoint) => toUrl(endpoint, tls !== undefined));
    this.#logIn = new Etcd3LogIn({ urls, tls, credentials: options.credentials });
    this.#prefix = options.prefix;
    const base = withoutTrailingSlashes(options.prefix);
    // A key with a NUL cannot exist below the prefix; only the answer's header is needed.
    const message = encodeRange({ key: `${base}/\0`, countOnly: true });
    this.#revisionRequest = { path: RANGE_PATH, message };
    const isLean = options.transport !== "grpc";
    const pool = (purpose: ConnectionPurpose) =>
      new EndpointPool({
        urls,
        tls,
        dialTimeoutMs: options.dialTimeoutMs ?? DIAL_TIMEOUT_MS,
        keepalive: options.keepalive ?? KEEPALIVE,
        probe: this.#revisionRequest,
        isLean,
        purpose,
        aborts: this.#aborts,
        tokens: this.#logIn,
        clock,
        lifecycle: this.#lifecycle,
        logger,
      });
    this.#calls = pool("calls");
    this.#streams = pool("streams");
    this.#leases = new SharedLeases(clock, (ttlSeconds) => this.#grantLease(ttlSeconds));
    this.#clockKey = `${base}.clock`;
    this.#clockWriter = new ClockWriter({
      write: (signal) => this.#writeClock(signal),
      clock,
      lifecycle: this.#lifecycle,
      logger,
    });
    this.#hold = setInterval(() => {}, HOLD_MS);
  }

  /** The checks of openEtcdStore. @throws {StorageError} */
  async check(signal: AbortSignal): Promise<void> {
    const clusterIds = new Set<string>();
    let failure: unknown;
    do {
      for (const { url, identity, failure: reason } of await this.#calls.identities(signal)) {
        if (identity === undefined) {
          failure = reason;
          this.#logger.warn({ url, err: reason }, "an etcd endpoint does not serve us");
          continue;
        }
        this.#checkVersion(url, identity.version);
        clusterIds.add(identity.clusterId);
      }
      // A dial that took too long says as much of a busy machine as of etcd: the caller's deadline decides.
    } while (clusterIds.size === 0 && isLate(failure));
    if (clusterIds.size > 1) {
      throw new StorageError("Refused", "the etcd endpoints belong to different clusters");
    }
    if (clusterIds.size === 0) throw this.#toOpeningError(failure);
    try {
      await this.currentRevision(signal);
    } catch (error) {
      throw error instanceof StorageError ? this.#toOpeningError(error) : error;
    }
  }

  /** @throws {StorageError} Refused */
  #checkVersion(url: string, version: string | undefined): void {
    if (version !== undefined && !isSupported(version)) {
      throw new StorageError("Refused", `etcd ${version} is too old: 3.4 or newer is needed`);
    }
    if (version === undefined) {
      const message = "this etcd does not tell its version to our user: using a clock key";
      this.#logger.warn({ url }, message);
    } else if (!hasTrustedProgress(version)) {
      const message = "this etcd's progress answers run ahead: using a clock key";
      this.#logger.warn({ url, version }, message);
    }
  }

  /** Adds the missing right to a refusal: the store needs only its prefix. */
  #toOpeningError(failure: unknown): StorageError {
    const error = toStorageError(failure, false);
    const { code } = error;
    if (code === "Unavailable") {
      return new StorageError(code, "no etcd endpoint answers", { cause: failure });
    }
    if (code !== "Refused" || !isDenied(failure)) return error;
    const message = `${error.message}: our user may not read below ${this.#prefix}`;
    return new StorageError(code, message, { cause: failure });
  }

  async get(
    key: string,
    options: { readonly revision?: Revision },
    signal: AbortSignal,
  ): Promise<{ readonly kv: KeyValue | undefined; readonly revision: Revision }> {
    const { kvs, revision } = await this.#range("get", { key, ...options }, signal);
    return { kv: kvs[0], revision };
  }

  async range(request: RangeRequest, signal: AbortSignal): Promise<RangeResult> {
    const { prefix, after, limit, revision } = request;
    const call: RangeCall = {
      ...keysOf(prefix, after),
      ...(limit === undefined ? {} : { limit }),
      ...(revision === undefined ? {} : { revision }),
    };
    // etcd rejects an empty range as a mistake; here it only means that the last key is passed.
    if (Buffer.compare(Buffer.from(call.key), Buffer.from(call.end ?? "")) >= 0 && prefix !== "") {
      const kvs: KeyValue[] = [];
      return { kvs, more: false, count: 0, revision: await this.#revisionAt(revision, signal) };
    }
    return await this.#range("list", call, signal);
  }

  async commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    try {
      return toResult(await this.#txn("txn", transaction, signal));
    } catch (error) {
      if (!(error instanceof StorageError && error.code === "NoSpace")) throw error;
      return await settleNoSpace(transaction, error, async (check) => {
        return toResult(await this.#txn("get", check, signal));
      });
    }
  }

  async currentRevision(signal: AbortSignal): Promise<Revision> {
    const answer = await this.#measure("revision", signal, (traceparent) => {
      const request = this.#revisionRequest;
      const traced = traceparent === undefined ? request : { ...request, traceparent };
      return this.#calls.call(traced, false, signal);
    });
    return decodeRange(answer).revision;
  }

  watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchBatch> {
    return { [Symbol.asyncIterator]: () => this.#openWatch(options, signal) };
  }

  requestProgress(): void {
    for (const watch of this.#watches) watch.requestProgress();
  }

  async lease(ttlSeconds: number, signal: AbortSignal): Promise<LeaseId> {
    return await this.#measure("lease", signal, () => {
      return this.#waitFor(this.#leases.get(ttlSeconds), signal);
    });
  }

  async compact(revision: Revision, signal: AbortSignal): Promise<void> {
    const request = { path: COMPACT_PATH, message: encodeCompaction(revision) };
    try {
      // Retried after a lost answer, as a read is: compaction is idempotent.
      await this.#measure("compact", signal, () => this.#calls.call(request, false, signal));
    } catch (error) {
      if (isDenied(error)) {
        const message = "etcd lets administrators alone compact: it has to compact by itself";
        throw new StorageError("Refused", message, { cause: error });
      }
      // Already compacted up to here or further: by another replica, or by a lost first attempt.
      if (!(error instanceof StorageError && error.code === "Compacted")) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const disposed = this.#lifecycle[Symbol.asyncDispose]();
    clearInterval(this.#hold);
    for (const watch of [...this.#watches]) watch.fail(closed(), { isUrgent: true });
    this.#calls.close();
    this.#streams.close();
    this.#logIn.close();
    await disposed;
  }

  #openWatch(options: WatchOptions, signal: AbortSignal): AsyncIterator<WatchBatch> {
    const watch = new EtcdWatch(
      {
        ...options,
        pool: this.#streams,
        aborts: this.#aborts,
        clock: this.#clock,
        logger: this.#logger,
        clockKey: this.#clockKey,
        requestClock: () => this.#clockWriter.request(),
        currentRevision: (ended) => this.currentRevision(ended),
        onEnd: () => this.#watches.delete(watch),
      },
      signal,
    );
    if (this.#lifecycle.signal.aborted) {
      watch.fail(closed(), { isUrgent: true });
      return watch;
    }
    this.#watches.add(watch);
    this.#lifecycle.spawn("etcd watch", "leave", async () => {
      try {
        await watch.run();
      } catch (error) {
        // Whoever follows it opens another one.
        watch.fail(toStorageError(error, false), { isUrgent: true });
        throw error;
      }
    });
    return watch;
  }

  async #range(
    operation: EtcdOperation,
    call: RangeCall,
    signal: AbortSignal,
  ): Promise<RangeAnswer> {
    const isLong = operation === "list";
    const request = { path: RANGE_PATH, message: encodeRange(call), isLong };
    const answer = await this.#measure(operation, signal, (traceparent) =>
      this.#calls.call({ ...request, traceparent }, false, signal),
    );
    return decodeRange(answer);
  }

  #txn(operation: EtcdOperation, transaction: Transaction, signal: AbortSignal): Promise<Buffer> {
    const message = encodeTxn(transaction);
    const isWrite = transaction.operations.length > 0;
    const answer = this.#measure(operation, signal, (traceparent) =>
      this.#calls.call({ path: TXN_PATH, message, traceparent }, isWrite, signal),
    );
    const usesLease = transaction.operations.some((op) => op.type === "put" && op.lease);
    if (!usesLease) return answer;
    return answer.catch((error) => {
      if (isLeaseGone(error)) this.#leases.forgetAll();
      throw error;
    });
  }

  /** The revision for an empty answer; it must exist, as for any other answer. */
  async #revisionAt(revision: Revision | undefined, signal: AbortSignal): Promise<Revision> {
    if (revision === undefined) return await this.currentRevision(signal);
    return (await this.get(`${this.#clockKey}\0`, { revision }, signal)).revision;
  }

  /** Shared by several callers, so no caller's signal ends it. It has its own deadline. */
  async #grantLease(ttlSeconds: number): Promise<LeaseId> {
    const request = { path: LEASE_GRANT_PATH, message: encodeLeaseGrant(ttlSeconds) };
    return decodeLeaseGrant(await this.#calls.call(request, false, this.#lifecycle.signal));
  }

  async #writeClock(signal: AbortSignal): Promise<void> {
    const value = Buffer.alloc(0);
    await this.#txn(
      "clock",
      { compares: [], operations: [{ type: "put", key: this.#clockKey, value }] },
      signal,
    );
  }

  /** Waits for work that is shared or cannot be stopped; each caller may stop waiting. */
  async #waitFor<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
    const closing = this.#lifecycle.signal;
    try {
      return await this.#aborts.race(signal, this.#aborts.race(closing, shared));
    } catch (error) {
      throw closing.aborted && !signal.aborted ? closed() : error;
    }
  }

  /** @param run gets the trace context of the call */
  async #measure<T>(
    operation: EtcdOperation,
    signal: AbortSignal,
    run: (traceparent: string | undefined) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    if (this.#lifecycle.signal.aborted) throw closed();
    const trace = traceOf(signal);
    const span = trace?.call(SPAN_NAMES[operation], SPAN_ATTRIBUTES);
    const onRequest = this.#onRequest;
    const startedAt = this.#clock.monotonic();
    try {
      const result = await run(span?.traceparent);
      span?.end();
      const call = trace === undefined ? GOOD_CALL : { traceId: trace.traceId };
      onRequest?.(operation, this.#clock.monotonic() - startedAt, call);
      return result;
    } catch (error) {
      span?.end(error);
      const code = error instanceof StorageError ? error.code : "Aborted";
      const call = { error: code, traceId: trace?.traceId };
      onRequest?.(operation, this.#clock.monotonic() - startedAt, call);
      throw error;
    }
  }
}

function toResult(answer: Buffer): CommitResult {
  const { revision, succeeded, ranges } = decodeTxn(answer);
  return succeeded ? { succeeded, revision } : { succeeded, revision, current: ranges };
}

function closed(): StorageError {
  return new StorageError("Closed", "the store is closed");
}

function isDenied(failure: unknown): boolean {
  const error = failure instanceof StorageError ? failure.cause : failure;
  return error instanceof RpcError && error.status === GRPC_STATUS.permissionDenied;
}

function isLeaseGone(error: unknown): boolean {
  return error instanceof StorageError && error.message.includes("requested lease not found");
}

/** @throws {StorageError} Refused: not an address */
function toUrl(endpoint: string, hasTls: boolean): string {
  const scheme = hasTls ? "https" : "http";
  const text = /^https?:\/\//.test(endpoint) ? endpoint : `${scheme}://${endpoint}`;
  if (!URL.canParse(text)) throw new StorageError("Refused", `not an etcd endpoint: ${endpoint}`);
  return new URL(text).origin;
}
