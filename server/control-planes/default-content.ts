/**
 * The objects that every control plane begins with - namespaces, roles, flow schemas - kept as the first one that this
 * process began had them. Those that begin later get them in two transactions instead of two hundred.
 */
import { randomUUID } from "node:crypto";
import type { PartitionId } from "../../storage/objects/keys.js";
import { formatTime } from "../api/time.js";
import { CREATOR_BINDING } from "./administrator.js";
import type { StoredContent } from "./copy-content.js";

/** Objects of these resources are the same in all; ConfigMaps, for example, have addresses. */
const SAME = new Set([
  "namespaces",
  "priorityclasses",
  "clusterroles",
  "clusterrolebindings",
  "roles",
  "rolebindings",
  "flowschemas",
  "prioritylevelconfigurations",
  "apiservices",
]);

const UID = /"uid":"[^"]*"/;
const TIME = /"(creationTimestamp|time)":"[^"]*"/g;

export class DefaultContent {
  #kept: readonly (Omit<StoredContent, "value"> & { readonly text: string })[] | undefined;

  get isKept(): boolean {
    return this.#kept !== undefined;
  }

  /** @param objects what a control plane has that nobody has used yet */
  keep(objects: readonly StoredContent[]): void {
    this.#kept = objects
      .filter(({ partition, path }) => SAME.has(resourceOf(partition)) && path !== CREATOR_BINDING)
      .map(({ value, ...key }) => ({ ...key, text: Buffer.from(value).toString("utf8") }));
  }

  /** With uids and times of their own; empty as long as none are kept. */
  make(nowMs: number): readonly StoredContent[] {
    const time = formatTime(nowMs);
    return (this.#kept ?? []).map(({ partition, path, text }) => {
      const own = text
        .replace(UID, `"uid":"${randomUUID()}"`)
        .replace(TIME, (_, field: string) => `"${field}":"${time}"`);
      return { partition, path, value: Buffer.from(own) };
    });
  }
}

function resourceOf(partition: PartitionId): string {
  return partition.slice(partition.indexOf("/") + 1);
}
