/**
 * RedisDecisionCache: webhook decisions that the replicas share (S2-AZC-23).
 *
 *   key    "keelson:authorization:" + digest of authorizer, configuration and question
 *   value  "1:allow", "1:deny" or "1:no-opinion", and nothing else: no names, no reasons
 *   TTL    of the decision; what remains of it comes back with the value
 *
 * Redis has a time budget per call, which excludes connecting, and is skipped while it is known to be
 * down or slow. Every failure means "not known": never an error, never a decision. A value other than
 * these three, or without a TTL, counts as absent.
 */
import { Redis, type RedisOptions, ReplyError } from "ioredis";
import type { Clock } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import { SharedDeadline } from "../../../storage/base/shared-deadline.js";
import { ServerTrust } from "../../../storage/x509/server-trust.js";
import type { CacheFailure, Decision, DecisionCacheMetrics } from "../metrics.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import type { SharedDecision, SharedDecisionCache } from "./decision-cache.js";
import { tlsConnectorTo } from "./redis-connector.js";

export interface RedisConnection {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly username: string;
  readonly password: string;
  readonly isTls: boolean;
}

export interface RedisDecisionCacheOptions {
  readonly connection: RedisConnection;
  /** PEM of the authorities for rediss://; undefined = those of the system. */
  readonly ca?: string;
  /** The longest time that a decision waits for Redis. */
  readonly budgetMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<DecisionCacheMetrics, "failed">;
}

const BUDGET_MS = 50;
/** Lookups that start within this time share a deadline. */
const BUDGET_SLACK_MS = 5;
const KEY_PREFIX = "keelson:authorization:";
/** Bounds a read value, so that foreign data under our key cannot be large. */
const VALUE_BYTES_MAX = 16;
/** Unconfirmed writes; beyond this, decisions are not shared. */
const PENDING_WRITES_MAX = 256;
/** A connection without replies is closed after this time. */
const SOCKET_TIMEOUT_MS = 1_000;
const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_MIN_MS = 50;
const RECONNECT_MAX_MS = 2_000;

const DECISION_OF_VALUE: ReadonlyMap<string, Decision> = new Map([
  ["1:allow", "allow"],
  ["1:deny", "deny"],
  ["1:no-opinion", "no-opinion"],
]);

const NOT_ASKED = Object.freeze({ isAsked: false });
const NOT_FOUND = Object.freeze({ isAsked: true });

/**
 * Reads `redis://[user[:password]@]host[:port][/database]`, or rediss:// for TLS.
 * @throws {RangeError} without the password in its message
 */
export function parseRedisUrl(text: string): RedisConnection {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const database = /^\/?(\d{1,5})?$/.exec(url?.pathname ?? "x");
  const isRedis = url?.protocol === "redis:" || url?.protocol === "rediss:";
  const username = percentDecoded(url?.username ?? "");
  const password = percentDecoded(url?.password ?? "");
  const isReadable = username !== undefined && password !== undefined;
  if (!isRedis || url.hostname === "" || database === null || url.search !== "" || !isReadable) {
    const forms = "redis://host:port/database or rediss://host:port/database";
    throw new RangeError(`the address of Redis must be ${forms}`);
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 6379 : Number(url.port),
    database: Number(database[1] ?? 0),
    username,
    password,
    isTls: url.protocol === "rediss:",
  };
}

/** undefined if it is not well encoded. */
function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export class RedisDecisionCache implements SharedDecisionCache, AsyncDisposable {
  readonly #redis: Redis;
  #trust: ServerTrust;
  readonly #breaker: CircuitBreaker;
  readonly #options: RedisDecisionCacheOptions;
  readonly #deadline: SharedDeadline;
  #pendingWrites = 0;
  #isConnected = false;

  /** Starts to connect in the background. */
  constructor(options: RedisDecisionCacheOptions) {
    this.#options = options;
    this.#deadline = new SharedDeadline(
      (options.budgetMs ?? BUDGET_MS) - BUDGET_SLACK_MS,
      BUDGET_SLACK_MS,
    );
    this.#breaker = new CircuitBreaker(options.clock);
    this.#trust = trustOf(options.ca);
    this.#redis = new Redis(toRedisOptions(options.connection, () => this.#trust));
    this.#redis.on("ready", () => {
      this.#isConnected = true;
      options.logger.info({}, "connected to Redis for decisions of webhooks");
    });
    this.#redis.on("close", () => {
      if (this.#isConnected) options.logger.warn({}, "lost Redis for decisions of webhooks");
      this.#isConnected = false;
    });
    let lastProblem = "";
    this.#redis.on("error", (error: Error) => {
      // Logged once per problem, not for each reconnect.
      if (error.message !== lastProblem) {
        options.logger.warn({ problem: error.message }, "Redis for decisions of webhooks fails");
      }
      lastProblem = error.message;
    });
  }

  /** Whether a connection is ready. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Takes effect with the next connection. */
  replacePassword(password: string): void {
    if (password !== "") this.#redis.options.password = password;
  }

  /** Takes effect with the next connection. @param ca PEM */
  replaceAuthorities(ca: string): void {
    this.#trust = trustOf(ca);
  }

  async get(key: string): Promise<{ readonly isAsked: boolean; readonly found?: SharedDecision }> {
    if (!this.#isConnected || !this.#breaker.mayTry()) {
      this.#options.metrics.failed("get", "skipped");
      return NOT_ASKED;
    }
    const fullKey = KEY_PREFIX + key;
    try {
      // Two commands in one turn cost half as much as a pipeline object. The TTL is read first: if another replica writes
      // in between, its new value must not get more than the old TTL.
      const ttlMs = this.#redis.pttl(fullKey);
      const value = this.#redis.getrange(fullKey, 0, VALUE_BYTES_MAX - 1).catch(ofWrongType);
      const replies = await this.#within(Promise.all([value, ttlMs]));
      this.#breaker.succeeded();
      return this.#read(...replies);
    } catch (error) {
      this.#fail("get", error);
      return NOT_ASKED;
    }
  }

  put(key: string, decision: Decision, ttlMs: number): void {
    const isBusy = this.#pendingWrites >= PENDING_WRITES_MAX;
    if (!this.#isConnected || this.#breaker.isOpen || isBusy) {
      this.#options.metrics.failed("set", "skipped");
      return;
    }
    this.#pendingWrites++;
    this.#redis
      .set(KEY_PREFIX + key, `1:${decision}`, "PX", Math.max(1, Math.floor(ttlMs)))
      .catch((error: unknown) => this.#fail("set", error))
      .finally(() => {
        this.#pendingWrites--;
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }

  /** A value of ours, or nothing. "" and -2 mean that the key is absent. */
  #read(
    value: unknown,
    ttlMs: unknown,
  ): { readonly isAsked: true; readonly found?: SharedDecision } {
    if (value === "") return NOT_FOUND as { isAsked: true };
    const decision = typeof value === "string" ? DECISION_OF_VALUE.get(value) : undefined;
    // The key may have been written between the two reads; a value without a TTL is not ours.
    if (decision !== undefined && ttlMs === -2) return NOT_FOUND as { isAsked: true };
    if (decision === undefined || typeof ttlMs !== "number" || ttlMs <= 0) {
      this.#options.metrics.failed("get", "garbage");
      return NOT_FOUND as { isAsked: true };
    }
    return { isAsked: true, found: { decision, ttlMs } };
  }

  /** The same replies, or a rejection once the budget is used up. */
  #within<T>(replies: Promise<T>): Promise<T> {
    const deadline = this.#deadline.signal;
    return new Promise((resolve, reject) => {
      // Replies already in the socket still count: the delay was ours.
      const onDeadline = () => setImmediate(() => reject(new BudgetExceeded()));
      deadline.addEventListener("abort", onDeadline, { once: true });
      replies
        .finally(() => deadline.removeEventListener("abort", onDeadline))
        .then(resolve, reject);
    });
  }

  #fail(operation: "get" | "set", error: unknown): void {
    const reason = reasonOf(error);
    this.#options.metrics.failed(operation, reason);
    // A full Redis still answers reads, so refused writes do not open the breaker.
    if (operation === "get" || reason !== "reply") this.#breaker.failed();
  }
}

class BudgetExceeded extends Error {}

/** A list or a set under our key is garbage, not a failure of Redis. */
function ofWrongType(error: Error): undefined {
  if (error.message.startsWith("WRONGTYPE")) return undefined;
  throw error;
}

function reasonOf(error: unknown): CacheFailure {
  if (error instanceof BudgetExceeded) return "timeout";
  return error instanceof ReplyError ? "reply" : "connection";
}

function trustOf(ca: string | undefined): ServerTrust {
  return ServerTrust.of(ca === undefined ? undefined : [ca]);
}

function toRedisOptions(connection: RedisConnection, trust: () => ServerTrust) {
  const { host, port, database, username, password, isTls } = connection;
  return {
    host,
    port,
    db: database,
    ...(username === "" ? {} : { username }),
    ...(password === "" ? {} : { password }),
    ...(isTls
      ? {
          tls: {},
          Connector: tlsConnectorTo({ host, port, trust }) as NonNullable<
            RedisOptions["Connector"]
          >,
        }
      : {}),
    protocol: 2 as const,
    connectionName: "keelson-authorization",
    disableClientInfo: true,
    // A command runs now or never: no queue while disconnected, no retry.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    // A new password, or a new primary at the same address, needs a reconnect.
    reconnectOnError: ({ message }) => /^(?:NOAUTH|WRONGPASS|NOPERM|READONLY)\b/.test(message),
    retryStrategy: (times) =>
      Math.min(RECONNECT_MAX_MS, RECONNECT_MIN_MS * 2 ** Math.min(times, 8)),
  } satisfies RedisOptions;
}
