/** Flow control's counters for each flow schema, and the observers of its times. */
import type { Refusal } from "./queue-set.js";

/** The counters of one flow schema. */
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

/** Observes waiting and execution times of one schema's requests. */
export interface SchemaTimes {
  /** @param isExecuted whether the request got its seats */
  waited(isExecuted: boolean, seconds: number): void;
  /** @param isWatch of which only the beginning counts */
  worked(isWatch: boolean, seconds: number): void;
  estimated(seats: number): void;
  /** How long the queue was, with the request that came. */
  queued(length: number): void;
  /** How many had to be told of a write. */
  watched(watchers: number): void;
}

/** Makes an observer once per schema, so that requests need not look up labels. */
export type FlowTimes = (level: string, schema: string) => SchemaTimes;

export const NO_TIMES: FlowTimes = () => ({
  waited() {},
  worked() {},
  estimated() {},
  queued() {},
  watched() {},
});
