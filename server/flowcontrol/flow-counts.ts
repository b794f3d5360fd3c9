/** What flow control counts of each flow schema, and whom it tells of times. */
import type { Refusal } from "./queue-set.js";

/** What is counted of one flow schema. */
export interface SchemaCounts {
  dispatched: number;
  executing: number;
  executingSeats: number;
  inQueue: number;
  readonly rejected: Partial<Record<Refusal, number>>;
}

/** Of the waits and of the work of one schema's requests. */
export interface SchemaTimes {
  /** @param isExecuted whether it got its seats in the end */
  waited(isExecuted: boolean, seconds: number): void;
  worked(seconds: number): void;
  estimated(seats: number): void;
}

/** Makes them, once per schema: a request must not look its labels up. */
export type FlowTimes = (level: string, schema: string) => SchemaTimes;

export const NO_TIMES: FlowTimes = () => ({ waited() {}, worked() {}, estimated() {} });
