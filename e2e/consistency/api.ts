/**
 * The objects of the workload as paths, bodies and answers: how a write's content is put into an object
 * and read back out of it. What differs between kinds is a `FireKind`.
 */
import { randomUUID } from "node:crypto";
import type { ApiObject } from "../harness/https-client.js";
import type { Content, JudgedBy, KeyedState, Scope, WatchItem } from "./history.js";

export const NAMESPACES = ["fire-a", "fire-b"] as const;

const INITIAL_END = "/initial-events-end";

/** The kind that the work is on. */
export interface FireKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** Of all its namespaces, such as "/api/v1". */
  readonly root: string;
  readonly plural: string;
  /** The member of an object that holds the content. */
  readonly part: "data" | "spec";
  /** What a merge patch sends besides, so that the result is judged anew. */
  readonly patchedBesides: Readonly<Record<string, null>>;
  /** Whether a replacement may leave out which version it replaces. */
  readonly isReplacedBlindly: boolean;
  /** What an object tells of the definitions that it met; undefined: its kind has none. */
  judgedBy(part: Readonly<Record<string, unknown>>): JudgedBy | undefined;
}

export const CONFIG_MAPS: FireKind = {
  apiVersion: "v1",
  kind: "ConfigMap",
  root: "/api/v1",
  plural: "configmaps",
  part: "data",
  patchedBesides: {},
  isReplacedBlindly: true,
  judgedBy: () => undefined,
};

export function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export function objectUrl({ root, plural }: FireKind, key: string): string {
  const [namespace = "", name = ""] = key.split("/");
  return `${root}/namespaces/${namespace}/${plural}/${name}`;
}

/** The collection of a scope with its selectors, ready for more parameters. */
export function scopeUrl(
  { root, plural }: FireKind,
  { namespace, name, color }: Scope,
  parameters: Readonly<Record<string, string>>,
): string {
  const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const path = `${root}${within}/${plural}`;
  const query = new URLSearchParams(parameters);
  if (name !== undefined) query.set("fieldSelector", `metadata.name=${name}`);
  if (color !== undefined) query.set("labelSelector", `color=${color}`);
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

export function toBody(
  { apiVersion, kind, part }: FireKind,
  key: string,
  content: Content,
  base: number | undefined,
): unknown {
  const [namespace, name] = key.split("/");
  const { w, v, p, color } = content;
  return {
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      labels: { color },
      ...(base === undefined ? {} : { resourceVersion: String(base) }),
    },
    [part]: { w, v, p },
  };
}

/** A merge patch of `w` and `p`. */
export function toPatch({ part, patchedBesides }: FireKind, w: string): unknown {
  return { [part]: { ...patchedBesides, w, p: w } };
}

/** A merge patch that leaves nothing of what was there. */
export function toWholePatch({ part, patchedBesides }: FireKind, content: Content): unknown {
  const { w, v, p, color } = content;
  return { metadata: { labels: { color } }, [part]: { ...patchedBesides, w, v, p } };
}

/** undefined for objects that are not of the workload. */
export function toState(kind: FireKind, object: ApiObject): KeyedState | undefined {
  const { namespace = "", name = "", resourceVersion, labels } = object.metadata;
  if (!(NAMESPACES as readonly string[]).includes(namespace)) return undefined;
  const part = (object[kind.part] ?? {}) as Record<string, string>;
  const { w = "", v = "", p = "" } = part;
  const judgedBy = kind.judgedBy(part);
  return {
    key: keyOf(namespace, name),
    revision: Number(resourceVersion),
    content: { w, v, p, color: labels?.color ?? "" },
    ...(judgedBy === undefined ? {} : { judgedBy }),
  };
}

/** undefined for events of objects that are not of the workload. */
export function toItem(kind: FireKind, type: string, object: ApiObject): WatchItem | undefined {
  if (type === "BOOKMARK") {
    const annotations = object.metadata.annotations ?? {};
    const isInitialEnd = Object.keys(annotations).some((key) => key.endsWith(INITIAL_END));
    return { type, revision: Number(object.metadata.resourceVersion), isInitialEnd };
  }
  const state = toState(kind, object);
  if (state === undefined) return undefined;
  if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") return { type, state };
  throw new TypeError(`an event of type ${type}`);
}

/** Unique over all runs, so that what an earlier one left behind cannot be mistaken for ours. */
export function newWriteId(): string {
  return randomUUID().slice(0, 13);
}
