/**
 * Assertions about our own reasoning. Client input is validated (StatusError), outside answers are
 * handled (StorageError); what fails here is a defect of Keelson itself (docs/dev/invariants.md).
 */

/** A broken promise of our own code. Callers that catch it discard the state concerned. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Checks one condition; `invariant` is its name in docs/dev/invariants.md. @throws {InvariantError} */
export function assert(condition: boolean, invariant: string): asserts condition {
  if (!condition) throw new InvariantError(invariant);
}

/** The exhaustive end of a switch over a closed union. @throws {InvariantError} */
export function unreachable(value: never): never {
  throw new InvariantError(`unexpected value: ${JSON.stringify(value)}`);
}
