/**
 * Decision: a verb's result for the state that it sees. The contract between the loop (write.ts) and
 * the verbs, which are functions from state to decision.
 */
import type { Compare } from "../../../storage/kv/store.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import type { StatusError } from "../../api/status.js";
import type { ReservationChange } from "./reservations.js";
import type { SideWrites } from "./side-writes.js";

/** Compares with the view's revisions of everything but the object that the write is judged by. */
export type Conditions = readonly Compare[];

/** The state that one attempt is based on. */
export interface Seen {
  readonly current: StoredObject | undefined;
  /** Other conditions that must still hold at the commit. */
  readonly conditions: Conditions;
  /** Stands for the write: the same in all its attempts. */
  readonly write: object;
}

/** The state of an object that is there. */
export type Found = Pick<Seen, "write"> & { readonly current: StoredObject };

/** @returns undefined when there is no object */
export function foundIn({ current, write }: Seen): Found | undefined {
  return current === undefined ? undefined : { current, write };
}

export interface Decision {
  /** "same": the store already holds it. */
  readonly action: "put" | "remove" | "same";
  /** The resulting object; of a removal, its last state. */
  readonly object: ApiObject;
  /** Of an update: the object as it was, in today's stored form. */
  readonly before?: ApiObject | undefined;
  /** Set for a new object that admission named otherwise than it was looked at. */
  readonly renamed?: Renamed | undefined;
  /** Its encoding; present for "put", and when an answer needs it. */
  readonly value?: Buffer | undefined;
  /** Why a valid object cannot be stored: another object holds a value that it needs. */
  readonly refusal?: StatusError | undefined;
  readonly reservations?: ReservationChange;
  readonly sideWrites?: SideWrites;
}

/** The name that a new object got, and what the view had under it; undefined = nothing. */
export interface Renamed {
  readonly name: string;
  readonly existing: StoredObject | undefined;
}
