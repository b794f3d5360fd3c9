/**
 * TurnWatch: which requests hold the thread. All requests share one thread, so a turn of the event loop that
 * takes 100 ms delays everybody by as much, and nothing else tells whose it was. Requests say where their work
 * begins: at their start, behind their body, in each later turn of a long write or answer. The time until the next
 * one begins, or the turn ends, is theirs.
 *
 *     t=0    a GET begins              0.1 ms, its own
 *     t=0.1  the body of a POST is in  180 ms, its own
 *     t=180  the turn ends             longer than 50 ms: "create configmaps, 180 ms" is kept and logged
 */
import type { Logger } from "../../storage/base/logger.js";
import type { RequestInfo } from "./request-info.js";

/** Longer turns are kept and logged. */
const LONG_MS = 50;
/** Shorter turns are not counted: they are nearly all. */
const COUNTED_MS = 5;
/** The last long turns that are kept. */
const KEPT_MAX = 10;
export const TURN_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

/** A request whose work begins. */
export interface WorkingRequest {
  readonly auditId: string;
  readonly bodyBytes: number;
  readonly infoIfKnown: RequestInfo | undefined;
}

export interface LongTurn {
  readonly at: string;
  /** Of the whole turn. */
  readonly turnMs: number;
  /** Of the request that took most of it. */
  readonly requestMs: number;
  /** Requests that worked in the turn. */
  readonly requests: number;
  readonly verb: string;
  readonly resource: string;
  readonly bodyBytes: number;
  readonly auditId: string;
}

export interface TurnWatchParts {
  readonly logger: Pick<Logger, "debug">;
  /** Takes the length of each turn of 5 ms and more. */
  readonly durations: { observe(seconds: number): void };
  readonly now?: () => number;
  readonly atEndOfTurn?: (end: () => void) => void;
}

export class TurnWatch {
  readonly #logger: TurnWatchParts["logger"];
  readonly #durations: TurnWatchParts["durations"];
  readonly #now: () => number;
  readonly #atEndOfTurn: (end: () => void) => void;
  readonly #kept: LongTurn[] = [];
  /** When the turn's first request began; undefined between turns. */
  #sinceMs: number | undefined;
  #working: WorkingRequest | undefined;
  #workingSinceMs = 0;
  #longest: { readonly request: WorkingRequest; readonly ms: number } | undefined;
  #requests = 0;

  constructor({ logger, durations, now, atEndOfTurn }: TurnWatchParts) {
    this.#logger = logger;
    this.#durations = durations;
    this.#now = now ?? (() => performance.now());
    this.#atEndOfTurn = atEndOfTurn ?? setImmediate;
  }

  /** The last long turns, oldest first. */
  get longTurns(): readonly LongTurn[] {
    return this.#kept;
  }

  /** The request's work begins, or goes on after a wait. */
  begin(request: WorkingRequest, nowMs = this.#now()): void {
    if (this.#sinceMs === undefined) {
      this.#sinceMs = nowMs;
      this.#atEndOfTurn(this.#end);
    } else this.#close(nowMs);
    this.#working = request;
    this.#workingSinceMs = nowMs;
    this.#requests++;
  }

  /** The work of the request that began last ends here. */
  #close(nowMs: number): void {
    const ms = nowMs - this.#workingSinceMs;
    if (this.#working !== undefined && ms > (this.#longest?.ms ?? 0)) {
      this.#longest = { request: this.#working, ms };
    }
  }

  readonly #end = (): void => {
    const nowMs = this.#now();
    const turnMs = nowMs - (this.#sinceMs ?? nowMs);
    if (turnMs >= COUNTED_MS) {
      this.#close(nowMs);
      this.#durations.observe(turnMs / 1_000);
      if (turnMs >= LONG_MS && this.#longest !== undefined) this.#keep(turnMs, this.#longest);
    }
    this.#sinceMs = undefined;
    this.#working = undefined;
    this.#longest = undefined;
    this.#requests = 0;
  };

  #keep(turnMs: number, { request, ms }: { request: WorkingRequest; ms: number }): void {
    const info = request.infoIfKnown;
    const { verb = "", group = "", resource = "", subresource = "" } = info ?? {};
    const turn: LongTurn = {
      at: new Date().toISOString(),
      turnMs: Math.round(turnMs),
      requestMs: Math.round(ms),
      requests: this.#requests,
      verb,
      resource: [`${resource}${group === "" ? "" : `.${group}`}`, subresource]
        .filter((part) => part !== "")
        .join("/"),
      bodyBytes: request.bodyBytes,
      auditId: request.auditId,
    };
    this.#kept.push(turn);
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
    this.#logger.debug({ turn }, "a request held the thread");
  }
}
