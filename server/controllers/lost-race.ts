/** Recognises lost races of control loops. */
import { StatusError } from "../api/status.js";
import { OutdatedKind } from "../registry/write/outdated-kind.js";

/**
 * Whether a write was refused because another client created, changed or deleted the object first. This
 * is normal; the next sync decides again.
 */
export function isLostRace(error: unknown): boolean {
  if (error instanceof OutdatedKind) return true;
  return error instanceof StatusError && (error.code === 409 || error.code === 404);
}
