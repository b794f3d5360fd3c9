/**
 * LazySignal: an AbortSignal made on demand. Authentication and authorization run for every request
 * and almost always answer from memory; creating a signal would cost more than their work.
 * RequestState implements it.
 */
import type { Trace } from "../../storage/base/trace.js";
import type { WriteNotes } from "./write-notes.js";

export interface LazySignal {
  readonly signal: AbortSignal;
  /** The request's trace; undefined = it is not traced. */
  readonly trace?: Trace | undefined;
  /** For the record of what is written; undefined = nobody keeps one. */
  readonly notes?: WriteNotes | undefined;
  /** Milliseconds for which the request waited for seats and webhooks. */
  othersMs?: number;
}

/** Functions that may wait take either; a request's own state is the lazy one. */
export type SignalSource = AbortSignal | LazySignal;

/** Counts the time until `work` is over as waiting for others. */
export async function waitForOthers<T>(source: SignalSource, work: Promise<T>): Promise<T> {
  const startedMs = performance.now();
  try {
    return await work;
  } finally {
    if ("othersMs" in source)
      source.othersMs = (source.othersMs ?? 0) + performance.now() - startedMs;
  }
}

/** The signal, made if necessary. */
export function signalOf(source: SignalSource): AbortSignal {
  return source instanceof AbortSignal ? source : source.signal;
}
