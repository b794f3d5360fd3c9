/**
 * The members of an etcd cluster behind one call interface. It keeps a connection to the member
 * that answered last, moves to the next one when it fails, and decides what may be retried: a read
 * always, a write only when the first attempt certainly did nothing.
 */
import type { ChannelCredentials } from "@grpc/grpc-js";
import type { AbortHub } from "../base/abort-hub.js";
import { type Clock, runAtIntervals } from "../base/clock.js";
import type { Lifecycle } from "../base/lifecycle.js";
import type { Logger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import {
  type ConnectionPurpose,
  EtcdConnection,
  type EtcdKeepalive,
  TICK_MS,
  toCredentials,
  type UnaryRequest,
} from "./connection.js";
import { GRPC_STATUS, RpcError, toStorageError } from "./errors.js";
import type { GrpcStream, StreamHandlers } from "./grpc-calls.js";
import { type IdentityOptions, identify, type MemberIdentity } from "./member-identity.js";
import { type EtcdTls, tlsFingerprint } from "./tls.js";

/** Provides the token for calls; undefined if etcd requires none. */
export interface TokenSource {
  token(signal: AbortSignal): Promise<string | undefined> | undefined;
  /** The token was refused: the next call of `token` gets a new one. */
  invalidate(): void;
}

/** How often a call tries all endpoints before it fails: about 1 s when they refuse. */
const ROUNDS_MAX = 4;

/**
 * No attempt begins later than 7 s after the call, so with the last dial of 3 s it ends within 10 s,
 * however many members are silent. Counted in ticks, so that time in which this process was stopped does
 * not count.
 */
const ATTEMPT_TICKS_MAX = 14;

/** A member whose silence made a caller wait 2 s, until its deadline, is left for another one. */
const SILENT_TICKS = 4;

/** The wait after the first round without success; doubles with each further one. */
const ROUND_WAIT_MS = 100;

export interface EndpointPoolOptions {
  readonly urls: readonly string[];
  readonly tls: EtcdTls | undefined;
  readonly dialTimeoutMs: number;
  readonly keepalive: EtcdKeepalive;
  /** See IdentityOptions. */
  readonly probe: UnaryRequest;
  /** Whether it uses connections of our own beside those of grpc-js. */
  readonly isLean: boolean;
  readonly purpose: ConnectionPurpose;
  readonly tokens: TokenSource;
  readonly aborts: AbortHub;
  readonly clock: Clock;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
}

/** A member's identity, or why it gave none. */
export interface MemberAnswer {
  readonly url: string;
  readonly identity?: MemberIdentity;
  readonly failure?: unknown;
}

/** A stream and the member that serves it. */
export interface OpenedStream {
  readonly stream: GrpcStream;
  readonly url: string;
}

export class EndpointPool {
  readonly #connections: readonly EtcdConnection[];
  readonly #tokens: TokenSource;
  readonly #aborts: AbortHub;
  readonly #clock: Clock;
  readonly #lifecycle: Lifecycle;
  readonly #logger: Logger;
  #preferred: number;
  #ticks = 0;
  readonly #identityOptions: IdentityOptions;
  readonly #identities = new Map<
    EtcdConnection,
    { readonly generation: number; readonly identity: MemberIdentity }
  >();

  constructor(options: EndpointPoolOptions) {
    const { tls, dialTimeoutMs, keepalive, aborts, logger } = options;
    const lean = options.isLean ? { lean: { tls, logger, purpose: options.purpose } } : {};
    this.#connections = options.urls.map((url) => {
      const credentials = currentCredentials(tls, url);
      return new EtcdConnection({ url, credentials, dialTimeoutMs, keepalive, aborts, ...lean });
    });
    this.#identityOptions = { tls, probe: options.probe };
    this.#tokens = options.tokens;
    this.#aborts = aborts;
    this.#clock = options.clock;
    this.#lifecycle = options.lifecycle;
    this.#logger = options.logger;
    // Spreads replicas that start with the same list of endpoints over them.
    this.#preferred = Math.floor(Math.random() * this.#connections.length);
    options.lifecycle.spawn("etcd deadlines", "restart", (signal) =>
      runAtIntervals({ clock: this.#clock, intervalMs: TICK_MS }, () => this.#tick(), signal),
    );
  }

  /** @throws {StorageError} @throws the signal's reason */
  async call(request: UnaryRequest, isWrite: boolean, signal: AbortSignal): Promise<Buffer> {
    const startTick = this.#ticks;
    for (let attempt = 1; ; attempt++) {
      this.#throwIfOver(signal);
      const connection = this.#current();
      const askedAtTick = this.#ticks;
      try {
        // Dials and log-ins are shared: each caller stops waiting when its own time is over.
        if (!connection.isReady) await this.#aborts.race(signal, connection.open());
        this.#throwIfOver(signal);
        const pending = this.#tokens.token(signal);
        const token = pending === undefined ? undefined : await this.#aborts.race(signal, pending);
        return await connection.unary(request, token, signal, this.#ticks - startTick);
      } catch (error) {
        // The next caller should not wait for the same member until its keepalive notices.
        const isSilent = signal.aborted && this.#ticks - askedAtTick >= SILENT_TICKS;
        if (isSilent) this.#leave(connection, error);
        this.#throwIfOver(signal, isWrite ? error : undefined);
        const isLast =
          attempt >= ROUNDS_MAX * this.#connections.length ||
          this.#ticks - startTick >= ATTEMPT_TICKS_MAX;
        if (isLast || !this.#mayRepeat(error, isWrite)) throw toStorageError(error, isWrite);
        this.#leave(connection, error);
      }
      await this.#waitAfterRound(attempt, signal);
    }
  }

  /**
   * Starts a streaming call on one member without trying others: the caller retries anyway, as it
   * must when the stream ends later. @throws {RpcError} @throws {StorageError}
   */
  async openStream(
    path: string,
    handlersFor: (identity: MemberIdentity) => StreamHandlers,
    signal: AbortSignal,
  ): Promise<OpenedStream> {
    this.#throwIfOver(signal);
    const connection = this.#current();
    try {
      await connection.open();
      const { generation } = connection;
      const identity = await this.#identityOf(connection, signal);
      const token = await this.#tokens.token(signal);
      this.#throwIfOver(signal);
      // Behind a balancer the new connection may lead to a member of another version.
      if (connection.generation !== generation || !connection.isReady) throw reconnected();
      const handlers = handlersFor(identity);
      const stream = connection.stream(path, token, {
        onMessage: (message) => handlers.onMessage(message),
        onEnd: (ended) => {
          this.leave(connection.url, ended);
          handlers.onEnd(ended);
        },
      });
      return { stream, url: connection.url };
    } catch (error) {
      if (!signal.aborted) this.#leave(connection, error);
      throw error;
    }
  }

  /** Switches to another member for later calls, unless that has already happened. */
  leave(url: string, error: RpcError): void {
    const connection = this.#current();
    if (connection.url === url) this.#leave(connection, error);
  }

  /** Versions and cluster ids of all members. @throws the signal's reason */
  async identities(signal: AbortSignal): Promise<readonly MemberAnswer[]> {
    const answers = await Promise.all(
      this.#connections.map(async (connection): Promise<MemberAnswer> => {
        const { url } = connection;
        try {
          await connection.open();
          return { url, identity: await this.#identityOf(connection, signal) };
        } catch (failure) {
          return { url, failure };
        }
      }),
    );
    signal.throwIfAborted();
    return answers;
  }

  /** The token was refused on a stream; unary calls notice by themselves. */
  invalidateToken(): void {
    this.#tokens.invalidate();
  }

  /** Closes all connections; every pending call fails. */
  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #current(): EtcdConnection {
    const connection = this.#connections[this.#preferred];
    if (connection === undefined) throw new StorageError("Refused", "no etcd endpoints given");
    return connection;
  }

  /** Determined once for each connection to a member. */
  async #identityOf(connection: EtcdConnection, signal: AbortSignal): Promise<MemberIdentity> {
    const known = this.#identities.get(connection);
    if (known?.generation === connection.generation) return known.identity;
    const { generation } = connection;
    const token = await this.#tokens.token(signal);
    const identity = await identify(connection, token, this.#identityOptions, signal);
    this.#identities.set(connection, { generation, identity });
    return identity;
  }

  #mayRepeat(error: unknown, isWrite: boolean): boolean {
    if (!(error instanceof RpcError)) return false;
    if (error.needsNewToken) {
      this.#tokens.invalidate();
      return true;
    }
    return error.isTransient && (!isWrite || error.isHarmless);
  }

  #leave(failed: EtcdConnection, error: unknown): void {
    if (this.#current() !== failed) return;
    this.#preferred = (this.#preferred + 1) % this.#connections.length;
    const next = this.#current().url;
    this.#logger.debug({ url: failed.url, next, err: error }, "an etcd endpoint failed");
  }

  async #waitAfterRound(attempt: number, signal: AbortSignal): Promise<void> {
    const rounds = attempt / this.#connections.length;
    if (!Number.isInteger(rounds)) return;
    const waited = this.#clock.sleep(ROUND_WAIT_MS * 2 ** (rounds - 1), this.#lifecycle.signal);
    await this.#aborts.race(signal, waited).catch(() => this.#throwIfOver(signal));
  }

  /** @param error of a write that may have been applied before we closed */
  #throwIfOver(signal: AbortSignal, error?: unknown): void {
    signal.throwIfAborted();
    if (!this.#lifecycle.signal.aborted) return;
    const outcomeUnknown = error instanceof RpcError && !error.isHarmless;
    throw new StorageError("Closed", "the store is closed", { cause: error, outcomeUnknown });
  }

  #tick(): void {
    this.#ticks++;
    for (const connection of this.#connections) connection.tick();
  }
}

function reconnected(): RpcError {
  const options = { isSent: false };
  return new RpcError(GRPC_STATUS.unavailable, "the connection was lost meanwhile", options);
}

/** A stream that ended although nobody closed it. */
export function unexpectedEnd(): RpcError {
  return new RpcError(GRPC_STATUS.unavailable, "the stream ended", { isSent: true });
}

/**
 * The credentials of one member's channels: the same ones until the TLS files have other contents.
 * @throws {StorageError} if they cannot be used at the start; later the last good ones are used
 */
function currentCredentials(tls: EtcdTls | undefined, url: string): () => ChannelCredentials {
  let fingerprint = tlsFingerprint(tls);
  let credentials = toCredentials(tls, url);
  return () => {
    const current = tlsFingerprint(tls);
    if (current === fingerprint) return credentials;
    try {
      credentials = toCredentials(tls, url);
      fingerprint = current;
    } catch {
      // Files that are being replaced: they are looked at again by the next connection.
    }
    return credentials;
  };
}
