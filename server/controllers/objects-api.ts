/**
 * ObjectsApi: all operations of control loops on objects. Loops run inside a replica, where reads come from the
 * view's memory and writes are the registry's functions (local-objects.ts); a loop that ran elsewhere would use
 * another implementation over HTTP.
 *
 * At the start of each replica:
 *
 *   system-namespaces.ts, system-priority-classes.ts, cluster-info.ts   objects that every registry has
 *   bootstrap-policy.ts               default roles and bindings
 *   api-endpoints.ts, replica-lease.ts   where the replicas are, for clients in the cluster; runs on
 *   flow-control-defaults.ts          default flow schemas and priority levels; runs on
 *   authentication-trust.ts           whom we believe, for API servers behind us; runs on
 *
 * In the process that leads (lease-lock.ts), all started by run-controllers.ts:
 *
 *   namespace-controller.ts           empties and removes namespaces
 *   namespace-default-controller.ts   objects that every namespace has; service-account-defaults.ts: which
 *   definition-controller.ts          deletes the objects of definitions that go
 *   garbage-collector.ts              deletes what has lost its owners; owner-graph.ts: who depends on whom
 *   job-ttl-controller.ts             deletes Jobs that ended long ago
 *   resource-quotas.ts                counts what quotas bound
 *   role-aggregation.ts               writes the rules of aggregated roles
 *   api-service-loop.ts               the APIServices of the group-versions that are served here
 *   policy-status.ts                  checks the types of policies; policy-type-checker.ts: how
 *   token-secret-controller.ts        Secrets that hold tokens of service accounts
 *   storage-migrator.ts               gives stored objects the form of today; stored-objects.ts: how they lie
 *   bootstrap-signer.ts, token-cleaner.ts   what bootstrap tokens sign, and their end
 *
 * A loop whose kinds are turned off does nothing (if-served.ts). Loops that keep one thing right are a runSyncLoop (sync-loop.ts); those with many objects have a
 * WorkQueue (work-queue.ts) of their own.
 */
import type { PartitionId } from "../../storage/objects/keys.js";
import type { ApiObject, ObjectMeta } from "../api/meta.js";
import type { NamedCause } from "../request/write-notes.js";

/** A stored resource in its storage version. */
export interface ControlledResource {
  /** Identifies the resource; a definition may change the rest. */
  readonly partition: PartitionId;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  /** Whether its objects go with their owners; the server's own Events do not. */
  readonly isCollected: boolean;
}

/** The key of an object, by which a loop decides whether to look at it. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** What an object's deletion waits for. */
export type Deletion =
  | "none"
  /** Under deletion; only others' finalizers hold it. */
  | "begun"
  /** Waits for its dependents' deletion. */
  | "foreground"
  /** Waits for its dependents to drop their references. */
  | "orphan";

/** Small, however large the owner's metadata is. */
export interface OwnerState {
  readonly uid: string | undefined;
  readonly deletion: Deletion;
}

/** Receives the changes of a resource's objects. Must be quick and not throw. */
export interface Follower {
  /** Earlier notifications are void: all existing objects follow as changed. */
  began(): void;
  /**
   * Whether nothing follows from an object's existence: then it is not reported as changed, which saves reading
   * its metadata. Default: no.
   */
  ignores?(object: ObjectKey & { readonly isTied: boolean }): boolean;
  /** The object exists, with this metadata. */
  changed(metadata: ObjectMeta): void;
  /** It was deleted; has its last metadata, or only its key if that was unreadable. */
  removed(metadata: ObjectMeta): void;
  /** The resource is no longer served: earlier notifications are void. */
  ended?(): void;
}

/** The preconditions of a deletion, and its policy for dependents. */
export interface RemoveOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy: "Background" | "Foreground" | "Orphan";
  /** Absent = what the object itself says. */
  readonly gracePeriodSeconds?: number;
}

/** Objects as of one moment. */
export interface ObjectsSnapshot {
  readonly count: number;
  /** Parsed on iteration; unreadable objects are only counted. */
  readonly objects: Iterable<ApiObject>;
}

export interface ObjectsApi {
  /** The same, whose writes name their cause to who keeps a record. */
  because(cause: NamedCause): ObjectsApi;
  /** Every stored resource once, in discovery order, as of now. */
  readonly resources: readonly ControlledResource[];
  /** @throws {NotServed} which ends a loop that asks as it begins (if-served.ts) */
  resource(group: string, resource: string): ControlledResource;
  /** The resource of an object reference ("apps/v1", "Deployment"); undefined = not served. */
  byKind(apiVersion: string, kind: string): ControlledResource | undefined;
  /** From memory: only the metadata, which is cheaper. An unreadable object counts as existing. */
  metadata(resource: ControlledResource, key: ObjectKey): ObjectMeta | "unreadable" | undefined;
  /** From memory: what dependents ask of an owner, read once for each of its versions. */
  owner(resource: ControlledResource, key: ObjectKey): OwnerState | "unreadable" | undefined;
  /** From memory: the metadata of a namespace's objects as of now, read on iteration; "" = all namespaces. */
  allMetadata(resource: ControlledResource, namespace: string): Iterable<ObjectMeta>;
  /** From memory: the names of cluster-scoped objects. */
  names(resource: ControlledResource): readonly string[];
  /** From memory, with resourceVersion; may be stale, because writes verify it. */
  get(resource: ControlledResource, key: ObjectKey): ApiObject | undefined;
  /** From memory; "" = all namespaces. */
  list(resource: ControlledResource, namespace: string): readonly ApiObject[];
  /** The objects of a namespace as of now, however long iteration takes. */
  snapshot(resource: ControlledResource, namespace: string): ObjectsSnapshot;
  /** The number of objects in a namespace, from memory. */
  count(resource: ControlledResource, namespace: string): number;
  /** Resolves when memory has every write acknowledged before the call and followers were notified. */
  refresh(): Promise<void>;
  create(resource: ControlledResource, object: ApiObject, signal: AbortSignal): Promise<ApiObject>;
  /** Conditional on the object's resourceVersion, if it has one. */
  update(
    resource: ControlledResource,
    object: ApiObject,
    subresource: string,
    signal: AbortSignal,
  ): Promise<ApiObject>;
  /** Begins the deletion of one object. @throws {StatusError} */
  remove(
    resource: ControlledResource,
    key: ObjectKey,
    options: RemoveOptions,
    signal: AbortSignal,
  ): Promise<void>;
  /** Begins the deletion of all objects in a namespace. */
  deleteAll(resource: ControlledResource, namespace: string, signal: AbortSignal): Promise<void>;
  /**
   * Calls back for every existing object and for each later change, until the signal aborts or the
   * resource is no longer served. The callback must be quick and not throw: it only notes what to check.
   */
  watch(
    resource: ControlledResource,
    onChange: (key: ObjectKey) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Like watch, for loops with an index of their own. Existing objects are reported before it returns. */
  follow(resource: ControlledResource, follower: Follower, signal: AbortSignal): Promise<void>;
  /**
   * Runs `task` for each wanted resource, existing or added later. Tasks end with the signal, or when
   * their resource is removed.
   */
  runForEach(
    isWanted: (resource: ControlledResource) => boolean,
    task: (resource: ControlledResource, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
}
