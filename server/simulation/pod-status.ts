/** The status of a simulated pod, as a node's agent would report it. */
import { formatTime } from "../api/time.js";
import type { Condition, Pod, PodStatus } from "./kinds.js";
import type { ContainerMoment, PodMoment, Terminated } from "./pod-timeline.js";

export interface PodPlace {
  readonly hostIp: string;
  readonly podIp: string;
}

/** What others wrote, such as conditions of readiness gates, stays. */
export function podStatus(
  pod: Pod,
  moment: PodMoment,
  place: PodPlace,
  times: PodTimes,
): PodStatus {
  const { phase, containers, initContainers } = moment;
  const isStarted = phase !== "Pending";
  const { hostIp, podIp } = place;
  const { uid = "", generation } = pod.metadata;
  return {
    ...pod.status,
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    conditions: conditionsOf(pod, moment, times.nowMs),
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    ...(isStarted && { podIP: podIp, podIPs: [{ ip: podIp }] }),
    startTime: formatTime(times.begunAtMs),
    containerStatuses: containers.map((container) => containerStatus(container, uid)),
    ...(initContainers.length > 0 && {
      initContainerStatuses: initContainers.map((container) => containerStatus(container, uid)),
    }),
  };
}

export interface PodTimes {
  readonly begunAtMs: number;
  readonly nowMs: number;
}

/** Whether all that decides about traffic says yes. */
export function isReady({ status }: Pod): boolean {
  return isTrue(status?.conditions, "Ready");
}

export function isTrue(conditions: readonly Condition[] | undefined, wanted: string): boolean {
  return conditions?.some(({ type, status }) => type === wanted && status === "True") === true;
}

/** The conditions with these in their places; a condition that stays as it was keeps its time. */
export function withConditions(
  before: readonly Condition[],
  next: readonly Condition[],
  nowMs: number,
): Condition[] {
  const dated = next.map((condition) => {
    const known = before.find(({ type }) => type === condition.type);
    const isSame = known?.status === condition.status && known.lastTransitionTime != null;
    const lastTransitionTime = isSame ? known.lastTransitionTime : formatTime(nowMs);
    return { ...condition, lastTransitionTime };
  });
  const others = before.filter(({ type }) => !next.some((one) => one.type === type));
  return [...others, ...dated];
}

function conditionsOf(pod: Pod, { phase, containers, initContainers }: PodMoment, nowMs: number) {
  const generation = pod.metadata.generation;
  const observed = generation !== undefined && { observedGeneration: generation };
  const isStarted = phase !== "Pending";
  const unready = containers.filter((one) => !one.isReady).map(({ container }) => container.name);
  const gates = (pod.spec?.readinessGates ?? []).map(({ conditionType }) => conditionType);
  const closed = gates.filter((type) => !isTrue(pod.status?.conditions, type));
  const notReady = {
    status: "False",
    reason: phase === "Succeeded" || phase === "Failed" ? endOf(phase) : "ContainersNotReady",
    ...(!isOver(phase) && { message: `containers with unready status: [${unready.join(" ")}]` }),
  };
  const containersReady = unready.length === 0 ? { status: "True" } : notReady;
  const gated = {
    status: "False",
    reason: "ReadinessGatesNotReady",
    message: `the status of pod readiness gate ${JSON.stringify(closed[0])} is not "True", but False`,
  };
  const ready = unready.length === 0 && closed.length > 0 ? gated : containersReady;
  const initialized = isStarted || initContainers.length === 0;
  const next: Condition[] = [
    { type: "PodReadyToStartContainers", status: isStarted && !isOver(phase) ? "True" : "False" },
    initialized
      ? {
          type: "Initialized",
          status: "True",
          ...(phase === "Succeeded" && { reason: "PodCompleted" }),
        }
      : { type: "Initialized", status: "False", reason: "ContainersNotInitialized" },
    { type: "Ready", ...ready },
    { type: "ContainersReady", ...containersReady },
    { type: "PodScheduled", status: "True" },
  ];
  const dated = next.map((condition) => ({ ...condition, ...observed, lastProbeTime: null }));
  return withConditions(pod.status?.conditions ?? [], dated, nowMs);
}

function isOver(phase: PodMoment["phase"]): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

function endOf(phase: "Succeeded" | "Failed"): string {
  return phase === "Succeeded" ? "PodCompleted" : "PodFailed";
}

function containerStatus(
  { container, state, isReady, restarts, last }: ContainerMoment,
  uid: string,
) {
  const { name, image = "" } = container;
  const id = `simulated://${uid}-${name}`;
  const isWaiting = state.is === "waiting";
  const hasRun = !isWaiting || last !== undefined;
  return {
    name,
    image,
    imageID: hasRun ? `simulated://${image}` : "",
    ...(hasRun && { containerID: id }),
    ready: isReady,
    started: state.is === "running",
    restartCount: restarts,
    state: stateOf(state, id),
    lastState: last === undefined ? {} : { terminated: terminatedOf(last, id) },
  };
}

function stateOf(state: ContainerMoment["state"], id: string) {
  switch (state.is) {
    case "waiting": {
      const { reason, message } = state;
      return { waiting: { reason, ...(message !== undefined && { message }) } };
    }
    case "running":
      return { running: { startedAt: formatTime(state.startedAtMs) } };
    case "terminated":
      return { terminated: terminatedOf(state, id) };
  }
}

function terminatedOf({ exitCode, startedAtMs, finishedAtMs }: Terminated, containerID: string) {
  return {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    startedAt: formatTime(startedAtMs),
    finishedAt: formatTime(finishedAtMs),
    containerID,
  };
}
