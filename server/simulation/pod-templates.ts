/** Pods out of templates, and what controllers ask of pods. */
import { createHash } from "node:crypto";
import type { ApiObject, ObjectMeta } from "../api/meta.js";
import { suffixOf } from "./chance.js";
import type { Pod, PodSpec, PodTemplate } from "./kinds.js";
import { ownerReference } from "./owned-objects.js";
import { isReady } from "./pod-status.js";

/** A pod of this owner; members of `more` come on top of the template's. */
export function podOf(
  owner: ApiObject,
  template: PodTemplate,
  more: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly spec?: PodSpec;
  },
): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const metadata: ObjectMeta = {
    name: more.name,
    namespace: owner.metadata.namespace ?? "",
    labels: { ...labels, ...more.labels },
    annotations: { ...annotations, ...more.annotations },
    ...(finalizers && { finalizers: [...finalizers] }),
    ownerReferences: [ownerReference(owner)],
  };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { ...template.spec, ...more.spec } };
}

/** Names templates that are equal alike. */
export function hashOf(
  template: PodTemplate | undefined,
  ...more: readonly (string | number)[]
): string {
  return suffixOf(9, createHash("sha256").update(JSON.stringify(template)).digest("hex"), ...more);
}

/** Whether it may still run: neither ended nor about to. */
export function isActive({ metadata, status }: Pod): boolean {
  const { phase } = status ?? {};
  return metadata.deletionTimestamp === undefined && phase !== "Succeeded" && phase !== "Failed";
}

/** How long until a pod has been ready for this time: 0 = it is available; undefined = it is not ready. */
export function availableInMs(
  pod: Pod,
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? "");
  return Math.max(0, sinceMs + minReadySeconds * 1_000 - nowMs);
}

export interface PodCounts {
  readonly ready: number;
  readonly available: number;
  /** When one more becomes available by time alone; undefined = none does. */
  readonly againMs: number | undefined;
}

export function countPods(pods: readonly Pod[], minReadySeconds: number, nowMs: number): PodCounts {
  const waits = pods.flatMap((pod) => availableInMs(pod, minReadySeconds, nowMs) ?? []);
  const later = waits.filter((ms) => ms > 0);
  return {
    ready: waits.length,
    available: waits.length - later.length,
    againMs: later.length === 0 ? undefined : Math.min(...later),
  };
}

/** "25%" of a number, or a number. */
export function amountOf(
  amount: number | string | undefined,
  total: number,
  round: (value: number) => number,
): number {
  if (typeof amount === "string" && amount.endsWith("%")) {
    return round((Number(amount.slice(0, -1)) * total) / 100);
  }
  return Number(amount ?? 0);
}
