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
}

export interface Decision {
  /** "same": the store already holds it. */
  readonly action: "put" | "remove" | "same";
  /** The resulting object; of a removal, its last state. */
  readonly object: ApiObject;
  /** Its encoding; present for "put", and when an answer needs it. */
  readonly value?: Buffer | undefined;
  /** Why a valid object cannot be stored: another object holds a value that it needs. */
  readonly refusal?: StatusError | undefined;
  readonly reservations?: ReservationChange;
  readonly sideWrites?: SideWrites;
}
