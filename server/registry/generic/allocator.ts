/**
 * Allocator: chooses exclusive values, such as an address, that a client left open. It guesses from the
 * view what is free; the transaction decides (../write/reservations.ts).
 */
import type { PartitionId } from "../../../storage/objects/keys.js";
import type { ApiObject } from "../../api/meta.js";

export interface Allocator {
  /**
   * Fills in `next`. `isTaken` says what other objects seem to hold; it may be wrong either way. A dry run takes
   * nothing, and may ask for any port.
   * @throws {StatusError} when nothing is left, or the requested value is out of range
   */
  assign(
    next: ApiObject,
    current: ApiObject | undefined,
    isTaken: IsTaken,
    isDryRun?: boolean,
  ): void;
}

export type IsTaken = (partition: PartitionId, path: string) => boolean;
