/**
 * Reservation: a key that an object holds exclusively besides its own, such as the address of a
 * Service. An object's reservations are a pure function of it (its strategy's); the registry puts and
 * deletes them in the object's own transactions.
 */
import type { PartitionId } from "../../storage/objects/keys.js";
import type { FieldError } from "../api/status.js";

export interface Reservation {
  readonly partition: PartitionId;
  /** Within the partition. */
  readonly path: string;
  /** The error for a client that requested exactly this value and cannot have it. */
  readonly problem: FieldError;
  /** The object stored under the key. */
  object(made: { readonly uid: string; readonly nowMs: number }): object;
}
