/**
 * SpanQueue: ended spans on their way to the exporter, in batches, one batch at a time. A span never waits
 * for room: what finds the queue full is dropped. Every span is counted once, as exported or as dropped.
 */

import type { Span, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { Clock } from "../../storage/base/clock.js";

export type SpanOutcome = "exported" | "full" | "failed" | "shutdown";

type EndedSpan = Parameters<SpanProcessor["onEnd"]>[0];

export interface SpanQueueOptions {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  /** Told once of each span. */
  readonly onOutcome: (outcome: SpanOutcome, spans: number) => void;
  /** Told of the first failure after a success. */
  readonly onFailure: (error: unknown) => void;
  /** Spans that may wait; a few KiB each at most. */
  readonly spansMax?: number;
  readonly batchMax?: number;
  /** How long a batch waits for more. */
  readonly delayMs?: number;
  /** How long one export may take; the exporter's own deadline is shorter. */
  readonly exportMs?: number;
  /** How long the end of the process waits for spans to leave. */
  readonly closeMs?: number;
}

const SPANS_MAX = 8_192;
const BATCH_MAX = 512;
const DELAY_MS = 1_000;
const EXPORT_MS = 15_000;
const CLOSE_MS = 3_000;
/** ExportResultCode.SUCCESS of the SDK. */
const SUCCESS = 0;

export class SpanQueue implements SpanProcessor {
  readonly #options: Required<SpanQueueOptions>;
  readonly #closing = new AbortController();
  #waiting: EndedSpan[] = [];
  #running: Promise<void> | undefined;
  #wake: AbortController | undefined;
  #isFailing = false;

  constructor(options: SpanQueueOptions) {
    this.#options = {
      spansMax: SPANS_MAX,
      batchMax: BATCH_MAX,
      delayMs: DELAY_MS,
      exportMs: EXPORT_MS,
      closeMs: CLOSE_MS,
      ...options,
    };
  }

  /** Spans that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  onStart(_span: Span): void {}

  onEnd(span: EndedSpan): void {
    const { spansMax, batchMax, onOutcome } = this.#options;
    if (this.#closing.signal.aborted || this.#waiting.length >= spansMax) {
      onOutcome(this.#closing.signal.aborted ? "shutdown" : "full", 1);
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= batchMax) this.#wake?.abort();
    this.#running ??= this.#run();
  }

  /** Until all that waits now has been handed over, or has failed. */
  async forceFlush(): Promise<void> {
    this.#wake?.abort();
    while (this.#running !== undefined) await this.#running;
  }

  /** Never rejects, and never takes longer than `closeMs`. */
  async shutdown(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { clock, closeMs, exporter, onOutcome } = this.#options;
    this.#closing.abort();
    const timer = new AbortController();
    const late = clock.sleep(closeMs, timer.signal).catch(() => {});
    await Promise.race([this.forceFlush(), late]);
    const dropped = this.#waiting.splice(0).length;
    if (dropped > 0) onOutcome("shutdown", dropped);
    // A connection that hangs must not hold up the end of the process.
    await Promise.race([exporter.shutdown().catch(() => {}), late]);
    timer.abort();
  }

  async #run(): Promise<void> {
    const { clock, delayMs, batchMax } = this.#options;
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < batchMax && !this.#closing.signal.aborted) {
        this.#wake = new AbortController();
        const signal = AbortSignal.any([this.#wake.signal, this.#closing.signal]);
        await clock.sleep(delayMs, signal).catch(() => {});
        this.#wake = undefined;
      }
      await this.#export(this.#waiting.splice(0, batchMax));
    }
    this.#running = undefined;
  }

  /** Never rejects. */
  #export(spans: EndedSpan[]): Promise<void> {
    if (spans.length === 0) return Promise.resolve();
    const { exporter, exportMs, onOutcome, onFailure } = this.#options;
    return new Promise((resolve) => {
      const settle = (error: unknown, isGood: boolean) => {
        if (timer === undefined) return;
        clearTimeout(timer);
        timer = undefined;
        onOutcome(isGood ? "exported" : "failed", spans.length);
        if (!isGood && !this.#isFailing) onFailure(error);
        this.#isFailing = !isGood;
        resolve();
      };
      let timer: NodeJS.Timeout | undefined = setTimeout(
        () => settle(new Error("the exporter does not answer"), false),
        exportMs,
      );
      try {
        exporter.export(spans, ({ code, error }) => settle(error, code === SUCCESS));
      } catch (error) {
        settle(error, false);
      }
    });
  }
}
