/**
 * `observedGeneration` in the status of a definition and in its conditions: written through the status
 * by clients and by migrations, as in kube-apiserver of 1.36. Without the gate
 * CRDObservedGenerationTracking it is left out of what is written, unless the definition has it already.
 */
import type { Definition, DefinitionStatus } from "./definition.js";

/** Changes `next`. */
export function dropObservedGenerations(next: Definition, current: Definition): void {
  const { status } = next;
  if (!status || isInUse(current.status)) return;
  const { observedGeneration: _observed, ...rest } = status;
  const conditions = status.conditions?.map(({ observedGeneration: _its, ...one }) => one);
  next.status = { ...rest, ...(conditions && { conditions }) };
}

function isInUse(status: DefinitionStatus | undefined): boolean {
  const observed = [status, ...(status?.conditions ?? [])];
  return observed.some((one) => (one?.observedGeneration ?? 0) !== 0);
}
