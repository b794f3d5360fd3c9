/**
 * LazySignal: an AbortSignal that is made when asked for. Authentication and authorization run for
 * every request and almost always answer from memory; creating a signal would cost them more than
 * their work. RequestState is one.
 */
import type { Trace } from "../../storage/base/trace.js";

export interface LazySignal {
  readonly signal: AbortSignal;
  /** Of the request; undefined = nobody wants to know. */
  readonly trace?: Trace | undefined;
}

/** What may have to wait takes either; a request's own state is the lazy one. */
export type SignalSource = AbortSignal | LazySignal;

/** Where there is something to wait for. */
export function signalOf(source: SignalSource): AbortSignal {
  return source instanceof AbortSignal ? source : source.signal;
}
