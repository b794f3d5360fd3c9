/**
 * Reservation: a key that an object holds for itself alone besides its own, such as the address of a
 * Service. Which ones an object holds is a pure function of it (its strategy's); the registry puts and
 * deletes them in the object's own transactions.
 */
import type { PartitionId } from "../../storage/objects/keys.js";
import type { FieldError } from "../api/status.js";

export interface Reservation {
  readonly partition: PartitionId;
  /** Within the partition. */
  readonly path: string;
  /** What a client hears who asked for just this and does not get it. */
  readonly problem: FieldError;
  /** What stands under the key. */
  object(made: { readonly uid: string; readonly nowMs: number }): object;
}
