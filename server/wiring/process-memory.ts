/**
 * Wiring of the memory that all control planes of a process share: each kind of it has one bound for all together, and
 * who holds most gives way (`storage/base/shared-bytes.ts`). What they hold besides is their content.
 */
import { SharedBytes } from "../../storage/base/shared-bytes.js";
import { createHistoryMemory, type HistoryMemory } from "../../storage/cache/retention.js";
import type { Config } from "../config/config.js";
import {
  createLargeEventsOfProcess,
  type LargeEventsOfProcess,
} from "../endpoints/reads/large-events.js";
import { AnswerMemory } from "../flowcontrol/answer-memory.js";
import type { Metrics } from "../metrics/metrics.js";
import { ringLimitsOf } from "./storage.js";

export interface ProcessMemory {
  /** Recent events, and snapshots of lists in pages. */
  readonly history: HistoryMemory;
  readonly answers: AnswerMemory;
  /** What the control planes below the root can make again; the root has as much for itself. */
  readonly cachesOfControlPlanes: SharedBytes;
  /** Large events of watches that clients have not read. */
  readonly largeEvents: LargeEventsOfProcess;
}

/** More than the largest caches of one: 24 MiB of compressed lists, 32 each of messages and of converted texts. */
export const CACHES_BYTES_MAX = 128 * 1024 * 1024;

/** How long a request may wait for memory, as a share of its deadline: as for seats. */
const PATIENCE_PART = 1 / 4;

/** @param compiled of custom kinds */
export function createProcessMemory(
  config: Config,
  metrics: Metrics,
  compiled: Bounded,
): ProcessMemory {
  const history = createHistoryMemory(ringLimitsOf(config));
  const answers = new AnswerMemory({
    bytesMax: config.answerMemoryBytesMax,
    patienceMs: config.requestTimeoutMs * PATIENCE_PART,
  });
  const caches = new SharedBytes(CACHES_BYTES_MAX);
  const largeEvents = createLargeEventsOfProcess();
  observe(metrics, { ...history, large_events: largeEvents.memory, caches, compiled });
  return { history, answers, cachesOfControlPlanes: caches, largeEvents };
}

interface Bounded {
  readonly bytes: number;
  readonly bytesMax: number;
}

function observe(metrics: Metrics, kinds: Readonly<Record<string, Bounded>>): void {
  const gauge = (name: string, help: string, read: (kind: Bounded) => number) =>
    metrics.gauge({ name, help, labelNames: ["kind"] }, (set) => {
      for (const [name, kind] of Object.entries(kinds)) set(read(kind), name);
    });
  gauge(
    "keelson_shared_memory_bytes",
    "Memory that the root and all control planes hold together.",
    ({ bytes }) => bytes,
  );
  gauge(
    "keelson_shared_memory_limit_bytes",
    "The most that they may hold together.",
    ({ bytesMax }) => bytesMax,
  );
}
