/**
 * OwnerGraph: the dependencies between objects that the garbage collector needs. It only holds objects
 * that name owners, or whose deletion waits for dependents; the view, which has every object, tells
 * whether an owner exists.
 *
 * The collector's followers are its only writer; everything is synchronous.
 */
import type { ObjectMeta, OwnerReference } from "../api/meta.js";
import type { ControlledResource, Deletion, ObjectKey } from "./objects-api.js";

/** Set on an owner that must go after its blocking dependents. */
export const FOREGROUND_FINALIZER = "foregroundDeletion";
/** Set on an owner whose dependents must stay. */
export const ORPHAN_FINALIZER = "orphan";

export interface GraphNode {
  readonly key: string;
  readonly resource: ControlledResource;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  readonly deletion: Deletion;
}

interface Dependents {
  readonly keys: Set<string>;
  /** How many of them block the owner's deletion, by their namespace; absent until one does. */
  blocking: Map<string, number> | undefined;
}

const NO_OWNERS: readonly OwnerReference[] = Object.freeze([]);

export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
  /** By the owner's uid. */
  readonly #dependents = new Map<string, Dependents>();
  /** Nodes that wait for their dependents, by uid. */
  readonly #waiting = new Map<string, string>();

  get size(): number {
    return this.#nodes.size;
  }

  get(key: string): GraphNode | undefined {
    return this.#nodes.get(key);
  }

  has(resource: ControlledResource, { namespace, name }: ObjectKey): boolean {
    return this.#nodes.size > 0 && this.#nodes.has(keyOf(resource, namespace, name));
  }

  all(): Iterable<GraphNode> {
    return this.#nodes.values();
  }

  /** Records the object's current state. @returns the node before and after */
  put(
    resource: ControlledResource,
    metadata: ObjectMeta,
  ): { readonly before: GraphNode | undefined; readonly after: GraphNode } {
    const after = toNode(resource, metadata);
    const before = this.#forget(after.key);
    if (after.owners.length > 0 || isWaiting(after)) this.#remember(after);
    return { before, after };
  }

  /** Removes the object. @returns its node */
  delete(resource: ControlledResource, { namespace = "", name = "" }: ObjectMeta) {
    return this.#forget(keyOf(resource, namespace, name));
  }

  /** Removes all objects of a resource. */
  clear(resource: ControlledResource): void {
    for (const node of [...this.#nodes.values()]) {
      if (node.resource === resource) this.#forget(node.key);
    }
  }

  /** Dependents with a valid reference: in the owner's namespace, or any for a cluster-scoped owner. */
  dependents(owner: { readonly uid: string; readonly namespace: string }): GraphNode[] {
    const found: GraphNode[] = [];
    for (const key of this.#dependents.get(owner.uid)?.keys ?? []) {
      const node = this.#nodes.get(key);
      if (node === undefined) continue;
      if (owner.namespace === "" || node.namespace === owner.namespace) found.push(node);
    }
    return found;
  }

  /** Whether any of the dependents blocks its deletion; looks at none of them. */
  isBlocked({ uid, namespace }: { readonly uid: string; readonly namespace: string }): boolean {
    const blocking = this.#dependents.get(uid)?.blocking;
    if (blocking === undefined) return false;
    return namespace === "" ? blocking.size > 0 : blocking.has(namespace);
  }

  /** The key of the object with this uid, if it waits for its dependents. */
  waitingOwner(uid: string): string | undefined {
    return this.#waiting.get(uid);
  }

  #remember(node: GraphNode): void {
    this.#nodes.set(node.key, node);
    if (isWaiting(node)) this.#waiting.set(node.uid, node.key);
    for (const uid of new Set(node.owners.map((owner) => owner.uid))) {
      let dependents = this.#dependents.get(uid);
      if (dependents === undefined) {
        dependents = { keys: new Set(), blocking: undefined };
        this.#dependents.set(uid, dependents);
      }
      dependents.keys.add(node.key);
    }
    for (const dependents of this.#blockedBy(node)) {
      dependents.blocking ??= new Map();
      const { blocking } = dependents;
      blocking.set(node.namespace, (blocking.get(node.namespace) ?? 0) + 1);
    }
  }

  /** What is known of the owners that a node blocks, each once. */
  #blockedBy({ owners }: GraphNode): ReadonlySet<Dependents> {
    const found = new Set<Dependents>();
    for (const { uid, blockOwnerDeletion } of owners) {
      const dependents = blockOwnerDeletion === true ? this.#dependents.get(uid) : undefined;
      if (dependents !== undefined) found.add(dependents);
    }
    return found;
  }

  #forget(key: string): GraphNode | undefined {
    const node = this.#nodes.get(key);
    if (node === undefined) return undefined;
    this.#nodes.delete(key);
    if (this.#waiting.get(node.uid) === key) this.#waiting.delete(node.uid);
    for (const { blocking } of this.#blockedBy(node)) {
      const left = (blocking?.get(node.namespace) ?? 0) - 1;
      if (left > 0) blocking?.set(node.namespace, left);
      else blocking?.delete(node.namespace);
    }
    for (const { uid } of node.owners) {
      const keys = this.#dependents.get(uid)?.keys;
      keys?.delete(key);
      if (keys?.size === 0) this.#dependents.delete(uid);
    }
    return node;
  }
}

export function isWaiting({ deletion }: Pick<GraphNode, "deletion">): boolean {
  return deletion === "foreground" || deletion === "orphan";
}

/** What an object's deletion waits for, by its metadata. */
export function deletionOf({ deletionTimestamp, finalizers }: ObjectMeta): Deletion {
  if ((deletionTimestamp ?? "") === "") return "none";
  if (finalizers?.includes(ORPHAN_FINALIZER)) return "orphan";
  return finalizers?.includes(FOREGROUND_FINALIZER) ? "foreground" : "begun";
}

function toNode(resource: ControlledResource, metadata: ObjectMeta): GraphNode {
  const { namespace = "", name = "", uid = "", ownerReferences } = metadata;
  return {
    key: keyOf(resource, namespace, name),
    resource,
    namespace,
    name,
    uid,
    owners: ownerReferences ?? NO_OWNERS,
    deletion: deletionOf(metadata),
  };
}

function keyOf({ group, resource }: ControlledResource, namespace: string, name: string): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
