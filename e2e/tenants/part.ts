/** A part of the run: so many seconds with one kind of load of the greedy tenant, and what came of it. */
import { quantile } from "../promises/gauge.js";
import type { GreedyCounts, GreedyKind } from "./greedy.js";
import type { Sample } from "./polite.js";

export type Mode = "fair" | "unfair";

export interface Part {
  readonly mode: Mode;
  readonly greedy: GreedyKind;
  readonly fromMs: number;
  readonly seconds: number;
  readonly samples: readonly Sample[];
  readonly counts: GreedyCounts;
  /** Of one core, by the server. */
  readonly cpuShare: number;
  /** The most that was seen, in MiB. */
  readonly resident: number;
  readonly answers: number;
}

export const isPolite = ({ who }: Sample): boolean => who.startsWith("polite");

export const latency = (samples: readonly Sample[], share: number): number =>
  quantile(
    samples.map(({ ms }) => ms),
    share,
  );

/** Parts of one kind as if they had been one: what waits for the machine once in a while weighs less in that. */
export function pooled(parts: readonly Part[]): Part {
  const [first] = parts;
  if (first === undefined) throw new Error("no part to pool");
  const sum = (of: (part: Part) => number) => parts.reduce((total, part) => total + of(part), 0);
  return {
    ...first,
    seconds: sum(({ seconds }) => seconds),
    samples: parts.flatMap(({ samples }) => samples),
    counts: {
      served: sum(({ counts }) => counts.served),
      refused: sum(({ counts }) => counts.refused),
      failed: sum(({ counts }) => counts.failed),
    },
    cpuShare: sum(({ cpuShare }) => cpuShare) / parts.length,
    resident: Math.max(...parts.map(({ resident }) => resident)),
    answers: Math.max(...parts.map(({ answers }) => answers)),
  };
}

const COLUMNS = [
  "mode",
  "greedy",
  "p50 ms",
  "p99 ms",
  "to alone",
  "leases p99",
  "exempt p99",
  "store p99",
  "failed",
  "CPU",
  "RSS MiB",
  "answers MiB",
  "greedy: served",
  "refused",
];

export const headOfTable = (): string => toLine(COLUMNS);

/** @param alone the part before, in which the greedy tenant rested */
export function rowOf(part: Part, alone: Part | undefined): string {
  const { mode, greedy, samples, counts, cpuShare, resident, answers } = part;
  const polite = samples.filter(isPolite);
  const p99 = latency(polite, 0.99);
  const before = alone && latency(alone.samples.filter(isPolite), 0.99);
  const of = (who: string) => samples.filter((sample) => sample.who === who);
  return toLine([
    mode,
    greedy,
    latency(polite, 0.5).toFixed(1),
    p99.toFixed(1),
    before === undefined ? "" : (p99 / before).toFixed(2),
    latency(of("leases"), 0.99).toFixed(1),
    latency(of("exempt"), 0.99).toFixed(1),
    latency(of("store"), 0.99).toFixed(1),
    String(samples.filter(({ status }) => status !== 200).length),
    cpuShare.toFixed(2),
    resident.toFixed(0),
    answers.toFixed(1),
    String(counts.served),
    String(counts.refused),
  ]);
}

function toLine(cells: readonly string[]): string {
  return `${cells.map((cell, index) => cell.padStart((COLUMNS[index]?.length ?? 0) + 2)).join("")}\n`;
}
