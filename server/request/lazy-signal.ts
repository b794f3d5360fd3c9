/**
 * LazySignal: an AbortSignal that is made when asked for. Authentication and authorization run for
 * every request and almost always answer from memory; creating a signal would cost them more than
 * their work. RequestState is one.
 */
export interface LazySignal {
  readonly signal: AbortSignal;
}
