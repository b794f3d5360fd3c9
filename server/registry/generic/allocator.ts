/**
 * Allocator: chooses what a client left open of what an object holds for itself alone, such as its
 * address. It looks at the view to guess what is free; the transaction decides (../write/reservations.ts).
 */
import type { PartitionId } from "../../../storage/objects/keys.js";
import type { ApiObject } from "../../api/meta.js";

export interface Allocator {
  /**
   * Fills in `next`. `isTaken` says what others seem to hold; it may be wrong either way.
   * @throws {StatusError} when there is nothing left, or what is asked for is out of range
   */
  assign(next: ApiObject, current: ApiObject | undefined, isTaken: IsTaken): void;
}

export type IsTaken = (partition: PartitionId, path: string) => boolean;
