/** How loops recognise that somebody else wrote first. */
import { StatusError } from "../api/status.js";
import { OutdatedKind } from "../registry/write/outdated-kind.js";

/**
 * Whether a write was refused because somebody else was quicker to create, to change or to delete the
 * object: nothing is wrong, the next look decides anew.
 */
export function isLostRace(error: unknown): boolean {
  if (error instanceof OutdatedKind) return true;
  return error instanceof StatusError && (error.code === 409 || error.code === 404);
}
