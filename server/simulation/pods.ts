/**
 * The agents of the simulated nodes: they report what the pods on them are in, and end those that are deleted. What a
 * pod of a node that is gone was in is not known any more; it is deleted when nothing tolerates that for longer.
 */
import { deepEqual } from "../api/deep-equal.js";
import type { ObjectKey } from "../controllers/objects-api.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import type { Condition, Node, Pod } from "./kinds.js";
import { tolerationOf } from "./node-fit.js";
import { hasSimulatedName, isGone, isSimulated, unreachableTaint } from "./nodes.js";
import { podStatus, withConditions } from "./pod-status.js";
import { momentOf } from "./pod-timeline.js";
import { durationIn, FAILED_BEFORE, settingsOf } from "./settings.js";

/** Runs until the signal aborts. */
export async function runPods(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects } = simulation;
  const agents = new Agents(simulation);
  const pods = objects.resource("", "pods");
  const watches = [
    { resource: pods, keysOf: (key: ObjectKey) => [textOf(key)] },
    {
      resource: objects.resource("", "nodes"),
      keysOf: ({ name }: ObjectKey) =>
        (objects.list(pods, "") as Pod[])
          .filter(({ spec }) => spec?.nodeName === name)
          .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    },
  ];
  const sync = (key: ObjectKey, until: AbortSignal) => agents.sync(key, until);
  await runKeyedLoop(simulation, { name: "pods", watches, sync }, signal);
}

/** What the agents remember of a pod, as long as it exists. */
interface Known {
  readonly uid: string;
  readonly begunAtMs: number;
  readonly podIp: string;
  stopsAtMs?: number;
}

class Agents {
  readonly #simulation: Simulation;
  readonly #known = new Map<string, Known>();
  readonly #addresses = new Set<string>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  async sync(key: ObjectKey, signal: AbortSignal): Promise<number | undefined> {
    const { objects, clock, settings } = this.#simulation;
    const pods = objects.resource("", "pods");
    const pod = objects.get(pods, key) as Pod | undefined;
    const nodeName = pod?.spec?.nodeName ?? "";
    if (pod === undefined || nodeName === "") return this.#forget(textOf(key));
    const found = objects.get(objects.resource("", "nodes"), { namespace: "", name: nodeName });
    if (found === undefined) {
      return hasSimulatedName(nodeName) ? await this.#end(pod, signal) : undefined;
    }
    const node = found as Node;
    if (!isSimulated(node)) return undefined;
    if (isGone(node)) return await this.#leave(pod, node, signal);
    const known = this.#knownOf(pod, node);
    const own = settingsOf(settings, pod.metadata);
    if (pod.metadata.deletionTimestamp !== undefined) {
      const name = pod.metadata.name ?? "";
      known.stopsAtMs ??= clock.now() + durationIn(own.stopAfter, settings.seed, "stop", name);
      const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1_000;
      const leftMs = Math.min(known.stopsAtMs - clock.now(), graceMs);
      return leftMs > 0 ? leftMs : await this.#end(pod, signal);
    }
    const { begunAtMs, podIp } = known;
    const nowMs = clock.now();
    const failedBefore = Number(pod.metadata.annotations?.[FAILED_BEFORE] ?? 0);
    const life = { pod, settings: own, seed: settings.seed, failedBefore, begunAtMs };
    const moment = momentOf(life, nowMs);
    const hostIp = addressOf(node);
    const place = { hostIp, podIp: pod.spec?.hostNetwork === true ? hostIp : podIp };
    const status = podStatus(pod, moment, place, { begunAtMs, nowMs });
    if (!deepEqual(status, pod.status))
      await objects.update(pods, { ...pod, status }, "status", signal);
    return moment.nextAtMs === undefined ? undefined : moment.nextAtMs - clock.now();
  }

  /** It is over, whatever else holds its object. */
  async #end({ metadata }: Pod, signal: AbortSignal): Promise<undefined> {
    const { objects } = this.#simulation;
    const { namespace = "", name = "", uid = "" } = metadata;
    // Its finalizers are for others.
    if (metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0)
      return;
    const options = { uid, gracePeriodSeconds: 0, propagationPolicy: "Background" } as const;
    await objects.remove(objects.resource("", "pods"), { namespace, name }, options, signal);
  }

  /** Nobody hears from it: it is not ready, and is to be deleted when its toleration ends. */
  async #leave(pod: Pod, node: Node, signal: AbortSignal): Promise<number | undefined> {
    const { objects, clock, naming } = this.#simulation;
    const { metadata, spec, status } = pod;
    if (metadata.deletionTimestamp !== undefined) return undefined;
    const pods = objects.resource("", "pods");
    const before = status?.conditions ?? [];
    const ready: Condition = {
      ...before.find(({ type }) => type === "Ready"),
      type: "Ready",
      status: "False",
    };
    const conditions = withConditions(before, [{ ...ready, reason: "NodeNotReady" }], clock.now());
    if (!deepEqual(conditions.map(bare).sort(byType), before.map(bare).sort(byType))) {
      await objects.update(pods, { ...pod, status: { ...status, conditions } }, "status", signal);
      return 0;
    }
    const key = unreachableTaint(naming);
    const taint = node.spec?.taints?.find((one) => one.key === key && one.effect === "NoExecute");
    if (taint === undefined) return undefined;
    const toleration = tolerationOf(spec?.tolerations ?? [], taint);
    const seconds = toleration === undefined ? 0 : (toleration.tolerationSeconds ?? Infinity);
    const leftMs = Date.parse(taint.timeAdded ?? "") + Number(seconds) * 1_000 - clock.now();
    if (leftMs > 0) return leftMs < Infinity ? leftMs : undefined;
    const { namespace = "", name = "", uid = "" } = metadata;
    const options = { uid, propagationPolicy: "Background" } as const;
    await objects.remove(pods, { namespace, name }, options, signal);
    return undefined;
  }

  #knownOf({ metadata, status }: Pod, node: Node): Known {
    const { namespace = "", name = "", uid = "" } = metadata;
    const key = textOf({ namespace, name });
    const known = this.#known.get(key);
    if (known?.uid === uid) return known;
    this.#forget(key);
    const writtenMs = Date.parse(status?.startTime ?? "");
    const begunAtMs = Number.isNaN(writtenMs) ? this.#simulation.clock.now() : writtenMs;
    const next: Known = { uid, begunAtMs, podIp: status?.podIP ?? this.#freeAddress(node) };
    this.#addresses.add(next.podIp);
    this.#known.set(key, next);
    return next;
  }

  #freeAddress(node: Node): string {
    const prefix = (node.spec?.podCIDR ?? "10.244.0.0/24").replace(/\.\d+\/\d+$/, "");
    for (let last = 2; last < 255; last++) {
      if (!this.#addresses.has(`${prefix}.${last}`)) return `${prefix}.${last}`;
    }
    // Pods that were put there by name, past what a node takes.
    return `${prefix}.254`;
  }

  #forget(key: string): undefined {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.delete(key);
    this.#addresses.delete(known.podIp);
  }
}

function bare({ type, status, reason }: Condition) {
  return { type, status, reason };
}

function byType(a: { readonly type: string }, b: { readonly type: string }): number {
  return a.type < b.type ? -1 : 1;
}

function addressOf({ status }: Node): string {
  return status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "";
}
