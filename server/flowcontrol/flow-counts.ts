/** What flow control counts of each flow schema, and whom it tells of times. */
import type { Refusal } from "./queue-set.js";

/** What is counted of one flow schema. */
export interface SchemaCounts {
  dispatched: number;
  executing: number;
  executingSeats: number;
  inQueue: number;
  inQueueSeats: number;
  /** How often a request of it was next and found too few seats. */
  noRoom: number;
  readonly rejected: Partial<Record<Refusal, number>>;
}

/** Of the waits and of the work of one schema's requests. */
export interface SchemaTimes {
  /** @param isExecuted whether it got its seats in the end */
  waited(isExecuted: boolean, seconds: number): void;
  /** @param isWatch of which only the beginning counts */
  worked(isWatch: boolean, seconds: number): void;
  estimated(seats: number): void;
  /** How long the queue was, with the request that came. */
  queued(length: number): void;
  /** How many had to be told of a write. */
  watched(watchers: number): void;
}

/** Makes them, once per schema: a request must not look its labels up. */
export type FlowTimes = (level: string, schema: string) => SchemaTimes;

export const NO_TIMES: FlowTimes = () => ({
  waited() {},
  worked() {},
  estimated() {},
  queued() {},
  watched() {},
});
