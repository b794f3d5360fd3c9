/**
 * The ConfigMaps of the workload as paths, bodies and answers: how a write's content is put into an
 * object and read back out of it.
 */
import { randomUUID } from "node:crypto";
import type { ApiObject } from "../harness/https-client.js";
import type { Content, KeyedState, Scope, WatchItem } from "./history.js";

export const NAMESPACES = ["fire-a", "fire-b"] as const;

const INITIAL_END = "/initial-events-end";

export function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export function objectUrl(key: string): string {
  const [namespace = "", name = ""] = key.split("/");
  return `/api/v1/namespaces/${namespace}/configmaps/${name}`;
}

/** The collection of a scope with its selectors, ready for more parameters. */
export function scopeUrl(
  { namespace, name, color }: Scope,
  parameters: Readonly<Record<string, string>>,
): string {
  const path =
    namespace === undefined ? "/api/v1/configmaps" : `/api/v1/namespaces/${namespace}/configmaps`;
  const query = new URLSearchParams(parameters);
  if (name !== undefined) query.set("fieldSelector", `metadata.name=${name}`);
  if (color !== undefined) query.set("labelSelector", `color=${color}`);
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

export function toBody(key: string, content: Content, base: number | undefined): unknown {
  const [namespace, name] = key.split("/");
  const { w, v, p, color } = content;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace,
      name,
      labels: { color },
      ...(base === undefined ? {} : { resourceVersion: String(base) }),
    },
    data: { w, v, p },
  };
}

/** undefined for objects that are not of the workload. */
export function toState({ metadata, data }: ApiObject): KeyedState | undefined {
  const { namespace = "", name = "", resourceVersion, labels } = metadata;
  if (!(NAMESPACES as readonly string[]).includes(namespace)) return undefined;
  const { w = "", v = "", p = "" } = (data ?? {}) as Record<string, string>;
  return {
    key: keyOf(namespace, name),
    revision: Number(resourceVersion),
    content: { w, v, p, color: labels?.color ?? "" },
  };
}

/** undefined for events of objects that are not of the workload. */
export function toItem(type: string, object: ApiObject): WatchItem | undefined {
  if (type === "BOOKMARK") {
    const annotations = object.metadata.annotations ?? {};
    const isInitialEnd = Object.keys(annotations).some((key) => key.endsWith(INITIAL_END));
    return { type, revision: Number(object.metadata.resourceVersion), isInitialEnd };
  }
  const state = toState(object);
  if (state === undefined) return undefined;
  if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") return { type, state };
  throw new TypeError(`an event of type ${type}`);
}

/** Unique over all runs, so that what an earlier one left behind cannot be mistaken for ours. */
export function newWriteId(): string {
  return randomUUID().slice(0, 13);
}
