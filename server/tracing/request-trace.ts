/**
 * RequestTrace: what one request did and waited for. It records its steps by itself, for the log of slow
 * requests, and makes spans of them for an exporter where the request is sampled. Whether it is may be known
 * only when the sender is: what came before is made up for then.
 *
 *   begin a ─ begin b ─ call c ─ end c ─ end b ─ end a       a ⊃ b ⊃ c
 *
 * The current step is the last one that has begun and not ended; several calls may be open within it.
 */
import {
  type Attributes,
  type Context,
  type Span as ExportedSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace as traceApi,
} from "@opentelemetry/api";
import type { Span, SpanAttributes, Trace } from "../../storage/base/trace.js";

/** A request that does more than this is described by its beginning. */
const STEPS_MAX = 256;

/** Error texts in spans are for operators, so quotes of the request are left out. */
export type DescribeFailure = (failure: unknown) => string;

/** The request's own span, and who makes those of its steps. */
export interface Sampled {
  readonly tracer: Tracer;
  readonly root: ExportedSpan;
  /** From this process's monotonic milliseconds to those of the wall clock. */
  readonly epochOffsetMs: number;
  readonly describeFailure: DescribeFailure;
}

export class RequestTrace implements Trace {
  isDetailed: boolean;
  isPassedOn = false;
  #steps: RecordedSpan[] | undefined;
  #current: RecordedSpan | undefined;
  #sampled: Sampled | undefined;
  #passedOn: string | undefined;

  /** @param isUndecided whether the request may still turn out to be sampled */
  constructor(isUndecided: boolean) {
    this.isDetailed = isUndecided;
  }

  get sampled(): Sampled | undefined {
    return this.#sampled;
  }

  get traceId(): string | undefined {
    return this.#sampled?.root.spanContext().traceId;
  }

  /** Calls of an unsampled request pass on the context of its sender, who made that decision. */
  get passedOn(): string | undefined {
    return this.#passedOn;
  }

  /** In the order in which they began. */
  get steps(): readonly RecordedSpan[] {
    return this.#steps ?? [];
  }

  /** The request is sampled, or it is not. Steps that were there before become spans now. */
  decide(sampled: Sampled | undefined, passedOn?: string): void {
    this.isDetailed = sampled !== undefined;
    this.isPassedOn = sampled !== undefined || passedOn !== undefined;
    this.#sampled = sampled;
    this.#passedOn = passedOn;
    if (sampled === undefined) return;
    for (const step of this.steps) step.exportTo(sampled);
  }

  begin(name: string, attributes?: SpanAttributes): Span {
    const step = this.#add(name, SpanKind.INTERNAL, attributes);
    this.#current = step;
    return step;
  }

  call(name: string, attributes?: SpanAttributes): Span {
    return this.#add(name, SpanKind.CLIENT, attributes);
  }

  /** A part of a step that has ended belongs to the step around it. */
  ended(step: RecordedSpan): void {
    while (this.#current?.endMs !== undefined) this.#current = this.#current.parent;
    if (this.#current === step) this.#current = step.parent;
  }

  #add(name: string, kind: SpanKind, attributes: SpanAttributes | undefined): RecordedSpan {
    const step = new RecordedSpan(this, { name, kind, parent: this.#current, attributes });
    if (this.#steps === undefined) this.#steps = [step];
    else if (this.#steps.length < STEPS_MAX) this.#steps.push(step);
    else return step;
    if (this.#sampled !== undefined) step.exportTo(this.#sampled);
    return step;
  }
}

interface StepOptions {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parent: RecordedSpan | undefined;
  readonly attributes: SpanAttributes | undefined;
}

export class RecordedSpan implements Span {
  readonly name: string;
  readonly parent: RecordedSpan | undefined;
  /** Monotonic milliseconds. */
  readonly startMs = performance.now();
  /** Undefined while it goes on. */
  endMs: number | undefined;
  readonly #trace: RequestTrace;
  readonly #kind: SpanKind;
  #attributes: Attributes | undefined;
  #failure: unknown;
  #exported: ExportedSpan | undefined;

  constructor(trace: RequestTrace, { name, kind, parent, attributes }: StepOptions) {
    this.#trace = trace;
    this.name = name;
    this.parent = parent;
    this.#kind = kind;
    this.#attributes = attributes;
  }

  get traceparent(): string | undefined {
    return this.#exported === undefined ? this.#trace.passedOn : traceparentOf(this.#exported);
  }

  set(name: string, value: string | number | boolean): void {
    this.#attributes = { ...this.#attributes, [name]: value };
    this.#exported?.setAttribute(name, value);
  }

  end(failure?: unknown): void {
    if (this.endMs !== undefined) return;
    this.endMs = performance.now();
    this.#failure = failure;
    this.#trace.ended(this);
    if (this.#exported !== undefined) this.#endExported();
  }

  exportTo({ tracer, root, epochOffsetMs }: Sampled): void {
    const around = this.parent === undefined ? root : (this.parent.#exported ?? root);
    const parent: Context = traceApi.setSpan(ROOT_CONTEXT, around);
    const options = { kind: this.#kind, startTime: this.startMs + epochOffsetMs };
    const attributes = this.#attributes === undefined ? {} : { attributes: this.#attributes };
    this.#exported = tracer.startSpan(this.name, { ...options, ...attributes }, parent);
    this.#endExported();
  }

  #endExported(): void {
    const { sampled } = this.#trace;
    if (this.endMs === undefined || this.#exported === undefined || sampled === undefined) return;
    if (this.#failure !== undefined) {
      const message = sampled.describeFailure(this.#failure);
      this.#exported.setStatus({ code: SpanStatusCode.ERROR, message });
    }
    this.#exported.end(this.endMs + sampled.epochOffsetMs);
  }
}

/** The header of W3C Trace Context, version 00. */
export function traceparentOf(span: ExportedSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}
