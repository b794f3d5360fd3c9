/**
 * The life of a simulated pod as a function of time: what its containers are in at a moment, and when that changes.
 *
 *   on a node -- startAfter --> runs -- readyAfter --> ready -- runsFor --> ended, or again after a pause
 *       \-- image-pull: waits, `times` times or for ever
 */
import type { Container, Pod } from "./kinds.js";
import { durationIn, type PodSettings } from "./settings.js";

export interface Terminated {
  readonly exitCode: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
}

export interface ContainerMoment {
  readonly container: Container;
  readonly state:
    | { readonly is: "waiting"; readonly reason: string; readonly message?: string }
    | { readonly is: "running"; readonly startedAtMs: number }
    | ({ readonly is: "terminated" } & Terminated);
  readonly isReady: boolean;
  readonly restarts: number;
  /** How it ended before its present run. */
  readonly last?: Terminated;
}

export interface PodMoment {
  readonly phase: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly containers: readonly ContainerMoment[];
  readonly initContainers: readonly ContainerMoment[];
  /** When something changes next, in the clock's milliseconds; undefined = never by itself. */
  readonly nextAtMs: number | undefined;
}

export interface PodLife {
  readonly pod: Pod;
  readonly settings: PodSettings;
  readonly seed: number;
  /** Pods of the same owner that failed before it: they count for `times`. */
  readonly failedBefore: number;
  /** When it came to its node. */
  readonly begunAtMs: number;
}

/** The pause before the first repetition; doubles with each. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 300_000;
/** A container that ended so often stays as it is. */
const RUNS_MAX = 10_000;

export function momentOf(life: PodLife, nowMs: number): PodMoment {
  const { containers = [], initContainers = [] } = life.pod.spec ?? {};
  const start = startOf(life, nowMs);
  if ("reason" in start) {
    const wait = (container: Container): ContainerMoment => ({
      ...{ container, isReady: false, restarts: 0 },
      state: {
        is: "waiting",
        reason: start.reason,
        ...(start.message && { message: start.message }),
      },
    });
    const all = { containers: containers.map(wait), initContainers: initContainers.map(wait) };
    return { phase: "Pending", ...all, nextAtMs: start.nextAtMs };
  }
  const times: number[] = [];
  const moments = containers.map((container, i) => {
    const { nextAtMs, ...moment } = containerMoment(life, { container, i, start }, nowMs);
    if (nextAtMs !== undefined) times.push(nextAtMs);
    return moment;
  });
  const isOver = moments.every(({ state }) => state.is === "terminated");
  const hasFailed = moments.some(({ state }) => state.is === "terminated" && state.exitCode !== 0);
  return {
    phase: isOver ? (hasFailed ? "Failed" : "Succeeded") : "Running",
    containers: moments,
    initContainers: initContainers.map((container) => initMoment(container, start.atMs, isOver)),
    nextAtMs: times.length === 0 ? undefined : Math.min(...times),
  };
}

type Start =
  | { readonly atMs: number }
  | { readonly reason: string; readonly message?: string; readonly nextAtMs: number | undefined };

/** When its containers start, or what they wait for. */
function startOf(life: PodLife, nowMs: number): Start {
  const { settings, pod } = life;
  const hasStarted = (pod.status?.phase ?? "Pending") !== "Pending";
  if (settings.mistake !== undefined && !hasStarted) {
    const reason = "CreateContainerConfigError";
    return { reason, message: settings.mistake, nextAtMs: undefined };
  }
  let atMs = life.begunAtMs + duration(life, "startAfter");
  if (atMs > nowMs) {
    const hasInit = (pod.spec?.initContainers?.length ?? 0) > 0;
    return { reason: hasInit ? "PodInitializing" : "ContainerCreating", nextAtMs: atMs };
  }
  if (settings.fails !== "image-pull") return { atMs };
  const left = Math.max(0, (settings.times ?? Infinity) - life.failedBefore);
  for (let tries = 0; tries < left; tries++) {
    atMs += pauseMs(tries);
    if (atMs <= nowMs && tries < RUNS_MAX) continue;
    const reason = tries === 0 ? "ErrImagePull" : "ImagePullBackOff";
    return { reason, message: "the simulation does not find the image", nextAtMs: atMs };
  }
  return { atMs };
}

interface StartedContainer {
  readonly container: Container;
  readonly i: number;
  readonly start: { readonly atMs: number };
}

function containerMoment(
  life: PodLife,
  { container, i, start }: StartedContainer,
  nowMs: number,
): ContainerMoment & { readonly nextAtMs?: number } {
  const { settings, failedBefore } = life;
  const policy = life.pod.spec?.restartPolicy ?? "Always";
  // A failure is one of the first container; the others do what they always do.
  const isFailing = (restarts: number) =>
    i === 0 && settings.fails === "crash" && failedBefore + restarts < (settings.times ?? Infinity);
  let startedAtMs = start.atMs;
  let last: Terminated | undefined;
  for (let restarts = 0; ; restarts++) {
    const isBad = isFailing(restarts);
    const common = { container, restarts, ...(last && { last }) };
    const lasts = settings.runsFor !== undefined || policy !== "Always" || isBad;
    const endsAtMs = lasts ? startedAtMs + duration(life, "runsFor", i, restarts) : Infinity;
    if (endsAtMs > nowMs) {
      const readyAtMs =
        i === 0 && settings.fails === "unready"
          ? Infinity
          : startedAtMs + duration(life, "readyAfter", i);
      const isReady = readyAtMs <= nowMs;
      const nextAtMs = isReady ? endsAtMs : Math.min(endsAtMs, readyAtMs);
      const state = { is: "running", startedAtMs } as const;
      return { ...common, state, isReady, ...(nextAtMs < Infinity && { nextAtMs }) };
    }
    const exitCode = isBad ? (settings.exitCode ?? 1) : 0;
    const ended: Terminated = { exitCode, startedAtMs, finishedAtMs: endsAtMs };
    const isAgain = policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
    if (!isAgain) return { ...common, state: { is: "terminated", ...ended }, isReady: false };
    const againAtMs = endsAtMs + pauseMs(restarts);
    if (againAtMs > nowMs || restarts === RUNS_MAX) {
      const state = { is: "waiting", reason: "CrashLoopBackOff" } as const;
      const next = restarts === RUNS_MAX ? {} : { nextAtMs: againAtMs };
      return { ...common, state, isReady: false, last: ended, ...next };
    }
    last = ended;
    startedAtMs = againAtMs;
  }
}

/** Those that are to end do so at once; those that run beside the others end with them. */
function initMoment(container: Container, startedAtMs: number, isOver: boolean): ContainerMoment {
  const isSidecar = container.restartPolicy === "Always";
  const ended = { exitCode: 0, startedAtMs, finishedAtMs: startedAtMs };
  return {
    ...{ container, restarts: 0 },
    isReady: !isSidecar || !isOver,
    state: isSidecar && !isOver ? { is: "running", startedAtMs } : { is: "terminated", ...ended },
  };
}

function duration(
  { settings, seed, pod: { metadata } }: PodLife,
  member: "startAfter" | "readyAfter" | "runsFor",
  ...more: readonly number[]
): number {
  const { namespace = "", name = "" } = metadata;
  return durationIn(settings[member], seed, member, namespace, name, ...more);
}

function pauseMs(repetition: number): number {
  return Math.min(PAUSE_MS * 2 ** repetition, PAUSE_MS_MAX);
}
