/**
 * Trace: the steps of one request through this server and the servers it calls. It travels with the
 * request's signal, which every wait receives anyway. Undefined when the request is not traced, so an
 * untraced step costs one check.
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
  /** The W3C Trace Context that calls within this span send along; undefined = none. */
  readonly traceparent: string | undefined;
  set(name: string, value: string | number | boolean): void;
  /** May be called twice. @param failure the error, when the step failed */
  end(failure?: unknown): void;
}

export interface Trace {
  /** Whether every step is recorded, not only waits. */
  readonly isDetailed: boolean;
  /** Whether calls send a trace context along. */
  readonly isPassedOn: boolean;
  /** The id of the exported trace; undefined = it is not exported. */
  readonly traceId: string | undefined;
  begin(name: string, attributes?: SpanAttributes): Span;
  call(name: string, attributes?: SpanAttributes): Span;
}

/** A carrier of a trace: a signal, or an object that makes the trace on demand. */
export type TraceSource = AbortSignal | { readonly trace?: Trace | undefined };

const TRACE = Symbol("trace");

type Carrier = AbortSignal & { [TRACE]?: Trace };

export function traceOf(source: TraceSource): Trace | undefined {
  return source instanceof AbortSignal ? (source as Carrier)[TRACE] : source.trace;
}

/** Attaches a trace to a request's own signal. */
export function carryTrace(signal: AbortSignal, trace: Trace | undefined): void {
  if (trace !== undefined) (signal as Carrier)[TRACE] = trace;
}

/** A signal derived from a shared one, for work that only one caller traces. */
export function tracedSignal(shared: AbortSignal, trace: Trace | undefined): AbortSignal {
  if (trace?.isPassedOn !== true) return shared;
  const signal = AbortSignal.any([shared]);
  carryTrace(signal, trace);
  return signal;
}

/** Runs a step within a span that ends with its result. */
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

/** Ends the span when the promise settles. */
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
