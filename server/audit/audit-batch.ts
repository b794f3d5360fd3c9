/**
 * AuditBatch: events on their way to one backend, in their order. They are gathered into batches and
 * handed over one batch at a time; what waits is bounded.
 *
 *   batch             a request never waits; what finds the buffer full is dropped, and counted
 *   blocking          a request waits until its event is handed over; a failure is counted
 *   blocking-strict   the same, and a request whose first event cannot be recorded is refused
 *
 * Every event is counted once: as recorded, or as dropped with a reason.
 */
import type { Clock } from "../../storage/base/clock.js";
import { isOverWithin } from "../../storage/base/is-over-within.js";

export const AUDIT_MODES = ["batch", "blocking", "blocking-strict"] as const;
export type AuditMode = (typeof AUDIT_MODES)[number];

/** An event as one line, without the newline. */
export type AuditLine = string;

/** The final receiver of events. Rejects unless all of them have arrived. */
export interface AuditBackend extends AsyncDisposable {
  readonly name: string;
  send(lines: readonly AuditLine[]): Promise<void>;
}

export interface BatchSettings {
  readonly mode: AuditMode;
  /** Events that may wait. */
  readonly bufferSize: number;
  readonly batchSizeMax: number;
  /** The limit of all lines of a batch; a batch has at least one line. 0 = no limit. */
  readonly batchBytesMax: number;
  /** How long a batch waits for more. */
  readonly waitMsMax: number;
  /** Batches a second, and how many may go at once after a rest; 0 = as many as there are. */
  readonly throttleQps: number;
  readonly throttleBurst: number;
}

/** full: the buffer had no room; failed: the backend did not take it; large: it was larger than allowed. */
export type AuditOutcome = "recorded" | "full" | "failed" | "large";

export interface AuditBatchOptions {
  readonly backend: AuditBackend;
  readonly settings: BatchSettings;
  readonly clock: Clock;
  /** Told once of each event what became of it. */
  readonly onOutcome: (outcome: AuditOutcome, events: number) => void;
  /** Told of the first failure after a success. */
  readonly onFailure: (error: unknown) => void;
}

/** How long the end of the process waits for a backend that does not take its events. */
const CLOSE_MS = 5_000;

interface Entry {
  readonly line: AuditLine;
  /** Told whether it was recorded; absent where nobody waits. */
  readonly settle: ((isRecorded: boolean) => void) | undefined;
}

export class AuditBatch implements AsyncDisposable {
  readonly #options: AuditBatchOptions;
  readonly #abort = new AbortController();
  #waiting: Entry[] = [];
  #sending: Promise<void> | undefined;
  /** Wakes a batch that waits for more. */
  #hurry: (() => void) | undefined;
  #isClosing = false;
  #isFailing = false;
  #tokens: number;
  #tokensAtMs: number;

  constructor(options: AuditBatchOptions) {
    this.#options = options;
    this.#tokens = options.settings.throttleBurst;
    this.#tokensAtMs = options.clock.monotonic();
  }

  get mode(): AuditMode {
    return this.#options.settings.mode;
  }

  /** Events that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** @returns whether the event was recorded, as far as the mode waits for that */
  write(line: AuditLine): Promise<boolean> | undefined {
    const { settings, onOutcome } = this.#options;
    if (settings.mode === "batch") {
      if (this.#isClosing || this.#waiting.length >= settings.bufferSize) onOutcome("full", 1);
      else this.#add({ line, settle: undefined });
      return undefined;
    }
    if (this.#isClosing || this.#waiting.length >= settings.bufferSize) {
      onOutcome("full", 1);
      return Promise.resolve(false);
    }
    return new Promise((settle) => this.#add({ line, settle }));
  }

  /** Counts an event that is too large to be handed over. */
  drop(): void {
    this.#options.onOutcome("large", 1);
  }

  /** Resolves when everything is handed over. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { backend, clock } = this.#options;
    this.#isClosing = true;
    this.#hurry?.();
    if (this.#sending !== undefined) await isOverWithin(this.#sending, CLOSE_MS, clock);
    this.#abort.abort();
    await backend[Symbol.asyncDispose]();
    await this.#sending;
  }

  #add(entry: Entry): void {
    this.#waiting.push(entry);
    if (this.#waiting.length >= this.#options.settings.batchSizeMax) this.#hurry?.();
    this.#sending ??= this.#send();
  }

  /** Until nothing waits. */
  async #send(): Promise<void> {
    const { settings } = this.#options;
    while (this.#waiting.length > 0) {
      if (settings.mode === "batch") await this.#gather();
      await this.#takeToken();
      const batch = this.#waiting.slice(0, this.#batchLength());
      this.#waiting = this.#waiting.slice(batch.length);
      await this.#handOver(batch);
    }
    this.#sending = undefined;
  }

  /** How many of those that wait go together. */
  #batchLength(): number {
    const { batchSizeMax, batchBytesMax } = this.#options.settings;
    const most = Math.min(batchSizeMax, this.#waiting.length);
    if (batchBytesMax === 0) return most;
    let bytes = 0;
    for (let length = 0; length < most; length++) {
      bytes += Buffer.byteLength(this.#waiting[length]?.line ?? "");
      if (bytes > batchBytesMax) return Math.max(1, length);
    }
    return most;
  }

  async #handOver(batch: readonly Entry[]): Promise<void> {
    const { backend, onOutcome, onFailure } = this.#options;
    let isRecorded = true;
    try {
      await backend.send(batch.map(({ line }) => line));
      this.#isFailing = false;
    } catch (error) {
      isRecorded = false;
      if (!this.#isFailing) onFailure(error);
      this.#isFailing = true;
    }
    onOutcome(isRecorded ? "recorded" : "failed", batch.length);
    for (const { settle } of batch) settle?.(isRecorded);
  }

  /** Waits for more events, up to a full batch or the longest wait. */
  async #gather(): Promise<void> {
    const { settings, clock } = this.#options;
    if (this.#isClosing || this.#waiting.length >= settings.batchSizeMax) return;
    if (settings.waitMsMax === 0) return;
    const hurried = new Promise<void>((resolve) => {
      this.#hurry = resolve;
    });
    await isOverWithin(hurried, settings.waitMsMax, clock);
    this.#hurry = undefined;
  }

  async #takeToken(): Promise<void> {
    const { settings, clock } = this.#options;
    const { throttleQps, throttleBurst } = settings;
    if (throttleQps === 0 || this.#isClosing) return;
    const nowMs = clock.monotonic();
    const earned = ((nowMs - this.#tokensAtMs) / 1000) * throttleQps;
    this.#tokens = Math.min(throttleBurst, this.#tokens + earned);
    this.#tokensAtMs = nowMs;
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    const waitMs = (-this.#tokens / throttleQps) * 1000;
    await clock.sleep(waitMs, this.#abort.signal).catch(() => {});
  }
}
