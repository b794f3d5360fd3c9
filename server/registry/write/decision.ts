/**
 * Decision: what a verb makes of the state that it sees. The contract between the loop (write.ts) and
 * the verbs, which are functions from one to the other.
 */
import type { Compare } from "../../../storage/kv/store.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import type { StatusError } from "../../api/status.js";
import type { ReservationChange } from "./reservations.js";
import type { SideWrites } from "./side-writes.js";

/** Compares with the revisions that the view has: what the write is judged by besides its object. */
export type Conditions = readonly Compare[];

/** The state that one attempt rests on. */
export interface Seen {
  readonly current: StoredObject | undefined;
  /** What else has to be as it was when the decision is committed. */
  readonly conditions: Conditions;
}

export interface Decision {
  /** "same": the store holds it already. */
  readonly action: "put" | "remove" | "same";
  /** The object as it is to be; of a removal, its last state. */
  readonly object: ApiObject;
  /** Its encoding; there for "put", and where an answer needs it. */
  readonly value?: Buffer | undefined;
  /** Why it cannot be stored although nothing is wrong with it: another object holds what it needs. */
  readonly refusal?: StatusError | undefined;
  readonly reservations?: ReservationChange;
  readonly sideWrites?: SideWrites;
}
