/**
 * The objects that every control plane begins with - namespaces, roles, flow schemas - kept as the first one that this
 * process began had them. Those that begin later get them in two transactions instead of two hundred.
 */
import { randomUUID } from "node:crypto";
import type { PartitionId } from "../../storage/objects/keys.js";
import { formatTime } from "../api/time.js";
import { CLUSTER_INFO } from "../controllers/cluster-info.js";
import { CREATOR_BINDING } from "./administrator.js";
import type { StoredContent } from "./copy-content.js";

/** Objects of these resources are the same in all, but for one. */
const SAME = new Set([
  "configmaps",
  "namespaces",
  "serviceaccounts",
  "priorityclasses",
  "clusterroles",
  "clusterrolebindings",
  "roles",
  "rolebindings",
  "flowschemas",
  "prioritylevelconfigurations",
  "apiservices",
]);

/** What platforms install in many control planes, beside what all begin with. */
const INSTALLED = new Set([
  "customresourcedefinitions",
  "mutatingadmissionpolicies",
  "mutatingwebhookconfigurations",
  "validatingadmissionpolicies",
  "validatingwebhookconfigurations",
]);
const CONFIG_MAPS = "configmaps";
/** ConfigMaps of namespaces that all have. */
const SYSTEM_MAP = /^kube-|\/kube-root-ca\.crt$/;

const DAY_LENGTH = "2026-11-27".length;
const UID = /"uid":"[^"]*"/;
const TIME = /"(creationTimestamp|lastTransitionTime|time)":"[^"]*"/g;
/** Of the map that says since when uses of tokens are tracked. */
const DAY = /"since":"[^"]*"/;

export class DefaultContent {
  #kept: readonly (Omit<StoredContent, "value"> & { readonly text: string })[] = [];
  #basis = "";
  /** Settles when the one that makes them has ended; undefined = nobody makes them. */
  #making: Promise<void> | undefined;

  /** @param basis what the objects depend on: certificates, for example */
  isKept(basis: string): boolean {
    return this.#kept.length > 0 && this.#basis === basis;
  }

  /**
   * Of many that begin at once, one makes the objects and the others wait for what it keeps.
   * @returns undefined = they are kept; else the caller makes them, and calls it when it has, or has not
   */
  async claim(basis: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    while (!this.isKept(basis)) {
      if (this.#making === undefined) return this.#begin();
      await orAborted(this.#making, signal);
    }
    return undefined;
  }

  #begin(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#making = promise;
    return () => {
      if (this.#making === promise) this.#making = undefined;
      resolve();
    };
  }

  /** @param objects what a control plane has that nobody has used yet */
  keep(objects: readonly StoredContent[], basis: string): void {
    this.#basis = basis;
    this.#kept = objects
      .filter(({ partition, path }) => SAME.has(resourceOf(partition)) && !isOwn(path))
      .map(({ value, ...key }) => ({ ...key, text: Buffer.from(value).toString("utf8") }));
  }

  /** With uids and times of their own; empty as long as none are kept that have this basis. */
  make(nowMs: number, basis: string): readonly StoredContent[] {
    if (!this.isKept(basis)) return [];
    const time = formatTime(nowMs);
    return this.#kept.map(({ partition, path, text }) => {
      const own = text
        .replace(UID, `"uid":"${randomUUID()}"`)
        .replace(TIME, (_, field: string) => `"${field}":"${time}"`)
        .replace(DAY, `"since":"${time.slice(0, DAY_LENGTH)}"`);
      return { partition, path, value: Buffer.from(own) };
    });
  }
}

/** @throws the signal's reason */
async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", end));
}

/** Whether many control planes may have such an object, with little of their own in it. */
export function isAlikeInMany(partition: PartitionId, path: string): boolean {
  const resource = resourceOf(partition);
  if (resource === CONFIG_MAPS) return SYSTEM_MAP.test(path);
  return SAME.has(resource) || INSTALLED.has(resource);
}

/** What has the address of the control plane, or names who made it. */
function isOwn(path: string): boolean {
  return path === CREATOR_BINDING || path.endsWith(`/${CLUSTER_INFO}`);
}

function resourceOf(partition: PartitionId): string {
  return partition.slice(partition.indexOf("/") + 1);
}
