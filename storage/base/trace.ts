/**
 * Trace: the way of one request through this server and those that it asks, step by step. It travels with
 * the request's signal, which goes wherever something waits: who has the signal has the trace. Undefined
 * where nobody wants to know, so it costs a look.
 *
 *   request                                   begin: what follows, until its end, is part of it
 *   ├ authorization ─────────                 call: another is asked; nothing is part of that
 *   │   └ HTTP POST ────────
 *   └ Create           ─────────────────
 *       └ etcdserverpb.KV/Txn ───────
 *
 * Implemented by server/tracing. Attributes name things and count them; nothing secret goes into them.
 */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** What a call within it sends along, as W3C Trace Context has it; undefined = nothing. */
  readonly traceparent: string | undefined;
  set(name: string, value: string | number | boolean): void;
  /** Harmless a second time. @param failure why it did not succeed */
  end(failure?: unknown): void;
}

export interface Trace {
  /** Whether every step is of interest, and not only what is waited for. */
  readonly isDetailed: boolean;
  /** Whether calls have something to send along. */
  readonly isPassedOn: boolean;
  /** Under which it is found; undefined = it is not exported. */
  readonly traceId: string | undefined;
  begin(name: string, attributes?: SpanAttributes): Span;
  call(name: string, attributes?: SpanAttributes): Span;
}

/** What may carry a trace: a signal, or who makes one when asked. */
export type TraceSource = AbortSignal | { readonly trace?: Trace | undefined };

const TRACE = Symbol("trace");

type Carrier = AbortSignal & { [TRACE]?: Trace };

export function traceOf(source: TraceSource): Trace | undefined {
  return source instanceof AbortSignal ? (source as Carrier)[TRACE] : source.trace;
}

/** Of a request's own signal. */
export function carryTrace(signal: AbortSignal, trace: Trace | undefined): void {
  if (trace !== undefined) (signal as Carrier)[TRACE] = trace;
}

/** A signal that several share, for work that one of them is told of. */
export function tracedSignal(shared: AbortSignal, trace: Trace | undefined): AbortSignal {
  if (trace?.isPassedOn !== true) return shared;
  const signal = AbortSignal.any([shared]);
  carryTrace(signal, trace);
  return signal;
}

/** Runs a step within a span, which ends with its answer. */
export function inSpan<T>(trace: Trace, name: string, work: () => T): T {
  const span = trace.begin(name);
  let answer: T;
  try {
    answer = work();
  } catch (error) {
    span.end(error);
    throw error;
  }
  if (answer instanceof Promise) return endWith(span, answer) as T;
  span.end();
  return answer;
}

/** Ends the span with the promise. */
export async function endWith<T>(span: Span, promise: Promise<T>): Promise<T> {
  try {
    const value = await promise;
    span.end();
    return value;
  } catch (error) {
    span.end(error);
    throw error;
  }
}
