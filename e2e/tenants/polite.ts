/**
 * Somebody who asks for no more than what is theirs, and how long they wait: requests begin at fixed times,
 * whatever became of those before (an open loop), on as many connections as that takes.
 */
import type { BenchRequest, Target } from "../bench/connection.js";
import { Http1Connection } from "../bench/http1-connection.js";

/** One answer. */
export interface Sample {
  /** Whose, such as "polite-1" or "leases". */
  readonly who: string;
  /** What was asked, such as "get". */
  readonly what: string;
  /** When it was asked, in milliseconds of this process. */
  readonly atMs: number;
  readonly ms: number;
  /** 0 = the connection broke. */
  readonly status: number;
}

export interface PoliteOptions {
  readonly who: string;
  readonly target: Target;
  readonly perSecond: number;
  readonly requestOf: (index: number) => readonly [what: string, request: BenchRequest];
  readonly onAnswer?: (body: Buffer) => void;
  readonly onSample: (sample: Sample) => void;
}

const LOOK_MS = 1;
/** Opened before they are needed: what is measured are answers and no handshakes. */
const CONNECTIONS_FIRST = 8;
/** Requests beyond them wait for one, which counts. */
const CONNECTIONS_MAX = 48;
const NO_ANSWER = { status: 0, body: Buffer.alloc(0) };

export class Polite {
  readonly #options: PoliteOptions;
  readonly #idle: Http1Connection[] = [];
  readonly #waiting: ((connection: Http1Connection) => void)[] = [];
  readonly #open: Http1Connection[] = [];
  #timer: NodeJS.Timeout | undefined;
  #nextAtMs = 0;
  #index = 0;
  #opened = 0;

  constructor(options: PoliteOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const first = Array.from({ length: CONNECTIONS_FIRST }, () => this.#connect());
    this.#idle.push(...(await Promise.all(first)));
    const gapMs = 1_000 / this.#options.perSecond;
    // Not all of them at the same moment.
    this.#nextAtMs = performance.now() + Math.random() * gapMs;
    this.#timer = setInterval(() => {
      for (; this.#nextAtMs <= performance.now(); this.#nextAtMs += gapMs) void this.#ask();
    }, LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const connection of this.#open) connection.close();
  }

  async #ask(): Promise<void> {
    const { who, requestOf, onAnswer, onSample } = this.#options;
    const [what, request] = requestOf(this.#index++);
    const atMs = performance.now();
    const connection = await this.#take();
    const { status, body } = await connection.request(request).catch(() => NO_ANSWER);
    onAnswer?.(body);
    onSample({ who, what, atMs, ms: performance.now() - atMs, status });
    const next = this.#waiting.shift();
    if (next !== undefined) next(connection);
    else this.#idle.push(connection);
  }

  async #take(): Promise<Http1Connection> {
    // The one that rested longest: the server closes what is never used.
    const idle = this.#idle.shift();
    if (idle !== undefined) return idle;
    if (this.#opened < CONNECTIONS_MAX) return await this.#connect();
    return await new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #connect(): Promise<Http1Connection> {
    this.#opened++;
    const connection = await Http1Connection.open(this.#options.target);
    this.#open.push(connection);
    return connection;
  }
}
