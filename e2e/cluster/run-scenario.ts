/**
 * Runs one scenario on a topology: load, faults at their times, then the verdict. Recovery is counted
 * from the end of a fault to the first of three seconds in which every request succeeded.
 */
import { Load, type LoadResult } from "./load.js";
import type { Scenario, Step } from "./scenarios.js";
import type { Second } from "./series.js";
import type { Topology } from "./topology.js";
import { VERBS } from "./verbs.js";

export interface LoadSize {
  readonly writers: number;
  readonly readers: number;
  readonly watchers: number;
  readonly thinkMs: number;
}

/** A fault as it happened, in seconds since the begin. */
export interface Happened {
  readonly verb: string;
  readonly from: number;
  to: number | undefined;
  /** What was seen meanwhile. */
  note: string | undefined;
  problem: string | undefined;
}

export interface ScenarioReport {
  readonly scenario: Scenario;
  readonly result: LoadResult;
  readonly seconds: readonly Second[];
  readonly faults: readonly Happened[];
  /** Seconds; undefined: it did not recover while the run went on. */
  readonly recoverySeconds: number | undefined;
  /** Shares of all connections by replica at the end; empty without a balancer. */
  readonly connections: readonly number[];
  /** Why the promise is broken; empty = it is kept. */
  readonly broken: readonly string[];
}

export interface Progress {
  readonly scenario: Scenario;
  readonly seconds: readonly Second[];
  readonly faults: readonly Happened[];
  readonly violations: readonly string[];
}

/** Quiet seconds by which one knows that all is well again. */
const CALM_SECONDS = 3;
const DEADLINE_SECONDS = 60;

export async function runScenario(
  topology: Topology,
  scenario: Scenario,
  size: LoadSize,
  onProgress: (progress: Progress) => void = () => {},
): Promise<ScenarioReport> {
  const load = new Load({ ...size, newClient: () => topology.newClient() });
  await load.start();
  const { series } = load;
  const faults: Happened[] = [];
  const tell = () =>
    onProgress({ scenario, seconds: series.seconds(), faults, violations: load.violations });
  const telling = setInterval(tell, 1_000);
  try {
    for (const step of scenario.steps) await runStep(topology, step, faults, () => series.now);
    const endsAt = Math.max(scenario.seconds, lastEnd(faults) + CALM_SECONDS + 1);
    await until(() => series.now >= endsAt);
    const giveUpAt = series.now + DEADLINE_SECONDS;
    const isCalm = () =>
      series
        .seconds()
        .slice(-CALM_SECONDS - 1, -1)
        .every(({ failed, good }) => failed === 0 && good > 0);
    await until(() => isCalm() || series.now > giveUpAt);
  } finally {
    clearInterval(telling);
  }
  const connections = (await topology.balancer?.connections()) ?? [];
  const result = await load.stop();
  const seconds = series.seconds();
  const recoverySeconds = recovery(seconds, lastEnd(faults));
  const report = { scenario, result, seconds, faults, recoverySeconds, connections };
  return { ...report, broken: judge(report) };
}

async function runStep(
  topology: Topology,
  { at, verb, index = 0, lasts }: Step,
  faults: Happened[],
  now: () => number,
): Promise<void> {
  await until(() => now() >= at);
  const happened: Happened = {
    verb,
    from: now(),
    to: undefined,
    note: undefined,
    problem: undefined,
  };
  faults.push(happened);
  try {
    const undo = await VERBS[verb]({ topology, index });
    // What takes a while to do lasts from its end.
    const doneAt = now();
    if (lasts !== undefined) await until(() => now() >= doneAt + lasts);
    happened.note = (await undo?.()) ?? undefined;
  } catch (error) {
    happened.problem = String(error);
  }
  happened.to = now();
}

function lastEnd(faults: readonly Happened[]): number {
  return Math.max(0, ...faults.map(({ from, to }) => to ?? from));
}

/** @param from when the last fault was over */
export function recovery(seconds: readonly Second[], from: number): number | undefined {
  const first = Math.floor(from);
  for (let at = first; at + CALM_SECONDS <= seconds.length; at++) {
    const calm = seconds.slice(at, at + CALM_SECONDS);
    if (calm.every(({ failed, good }) => failed === 0 && good > 0)) return Math.max(0, at - from);
  }
  return undefined;
}

function judge(report: Omit<ScenarioReport, "broken">): string[] {
  const { scenario, result, faults, recoverySeconds } = report;
  const broken = [...result.violations];
  for (const { verb, problem } of faults) {
    if (problem !== undefined) broken.push(`${verb} could not be done: ${problem}`);
  }
  if (result.failures - result.deferred > scenario.failuresMax) {
    const reasons = [...result.reasons].map(([reason, count]) => `${count} × ${reason}`);
    broken.push(`${result.failures} requests failed: ${reasons.join(", ")}`);
  }
  if (result.relists > scenario.relistsMax)
    broken.push(`${result.relists} watches had to list again`);
  if (recoverySeconds === undefined) broken.push("it did not recover");
  else if (recoverySeconds > scenario.recoverySecondsMax) {
    broken.push(`it recovered after ${recoverySeconds.toFixed(1)} s`);
  }
  return broken;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 50));
}
