/**
 * Looks up the owners that an object names, by name, with a matching uid. A namespaced owner is only
 * looked for in the object's own namespace, because references do not cross namespaces. If the result is
 * unclear, nothing is collected.
 */

import { LRUCache } from "lru-cache";
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { ApiObject, OwnerReference } from "../api/meta.js";
import { formatGroupVersion } from "../api/names.js";
import { formatTime } from "../api/time.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import type { GraphNode } from "./owner-graph.js";

export interface OwnerFindings {
  /** They exist and stay. */
  readonly solid: readonly OwnerReference[];
  /** They no longer exist. */
  readonly absent: readonly OwnerReference[];
  /** They exist until their dependents are gone. */
  readonly waiting: readonly OwnerReference[];
  /** Unknown type, another namespace, or unreadable. */
  readonly unknown: readonly OwnerReference[];
}

/** Objects with cross-namespace references, each reported once. */
const REPORTED_MAX = 1_000;
/** Owners that were looked for in all namespaces, and where they were found: thousands may name one that is gone. */
const SOUGHT_OWNERS_MAX = 1_000;
/** References of one object that are looked for in all namespaces: each costs a look into every one of them. */
const SOUGHT_MAX = 10;

export class OwnerLookup {
  readonly #objects: ObjectsApi;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By uid; "" = nowhere, which stays so, as uids do not come again. */
  readonly #sought = new LRUCache<string, string>({ max: SOUGHT_OWNERS_MAX });
  readonly #reported = new LRUCache<string, true>({ max: REPORTED_MAX });

  constructor(options: {
    readonly objects: ObjectsApi;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#objects = options.objects;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** From the current view; absence counts only after a refresh. */
  find(references: readonly OwnerReference[], namespace: string): OwnerFindings {
    const solid: OwnerReference[] = [];
    const absent: OwnerReference[] = [];
    const waiting: OwnerReference[] = [];
    const unknown: OwnerReference[] = [];
    for (const reference of references) {
      const resource = this.#objects.byKind(reference.apiVersion, reference.kind);
      if (resource === undefined || (resource.isNamespaced && namespace === "")) {
        unknown.push(reference);
        continue;
      }
      const key = { namespace: resource.isNamespaced ? namespace : "", name: reference.name };
      const owner = this.#objects.owner(resource, key);
      if (owner === "unreadable") unknown.push(reference);
      else if (owner?.uid !== reference.uid) absent.push(reference);
      else if (owner.deletion === "foreground") waiting.push(reference);
      else solid.push(reference);
    }
    return { solid, absent, waiting, unknown };
  }

  /** Reports references that cross namespaces: such owners never count. */
  async reportCrossing(
    node: GraphNode,
    references: readonly OwnerReference[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const reference of references.slice(0, SOUGHT_MAX)) {
      const resource = this.#objects.byKind(reference.apiVersion, reference.kind);
      if (resource?.isNamespaced !== true) continue;
      const reportKey = `${node.uid}/${reference.uid}`;
      if (this.#reported.has(reportKey)) continue;
      const elsewhere = this.#findElsewhere(resource, reference);
      if (elsewhere === "" || elsewhere === node.namespace) continue;
      this.#reported.set(reportKey, true);
      await this.#report(node, reference, elsewhere, signal);
    }
  }

  /** The other namespace that has the owner; "" = none. */
  #findElsewhere(resource: ControlledResource, { name, uid }: OwnerReference): string {
    const key = `${resource.partition}/${name}/${uid}`;
    const known = this.#sought.get(key);
    if (known !== undefined) return known;
    const namespaces = this.#objects.names(this.#objects.resource("", "namespaces"));
    const has = (namespace: string) => {
      const found = this.#objects.owner(resource, { namespace, name });
      return found !== "unreadable" && found?.uid === uid;
    };
    const found = namespaces.find(has) ?? "";
    this.#sought.set(key, found);
    return found;
  }

  async #report(
    { resource, namespace, name, uid }: GraphNode,
    owner: OwnerReference,
    ownerNamespace: string,
    signal: AbortSignal,
  ): Promise<void> {
    const now = formatTime(this.#clock.now());
    const text = `[${owner.apiVersion}/${owner.kind}, namespace: ${ownerNamespace}, name: ${owner.name}, uid: ${owner.uid}]`;
    const event: ApiObject = {
      kind: "Event",
      apiVersion: "v1",
      metadata: {
        // Events of cluster-scoped objects need a namespace.
        namespace: namespace === "" ? "default" : namespace,
        name: `${name}.${owner.uid.slice(0, 8)}.${this.#clock.now().toString(16)}`,
      },
      involvedObject: {
        kind: resource.kind,
        apiVersion: formatGroupVersion(resource),
        ...(namespace === "" ? {} : { namespace }),
        name,
        uid,
      },
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef ${text} does not exist in namespace ${JSON.stringify(namespace)}`,
      source: { component: "garbage-collector-controller" },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    try {
      await this.#objects.create(this.#objects.resource("", "events"), event, signal);
    } catch (error) {
      // The event only informs people; no decision depends on it.
      if (!signal.aborted) this.#logger.warn({ err: error, event }, "an event was not recorded");
    }
  }
}
