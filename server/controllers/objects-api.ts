/**
 * ObjectsApi: all that a control loop does with objects. Loops run inside a replica, where reads are
 * the view's memory and writes are the registry's functions (local-objects.ts); a loop that runs
 * elsewhere would get another implementation that speaks HTTP.
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
 *   policy-status.ts                  checks the types of policies; policy-type-checker.ts: how
 *   token-secret-controller.ts        Secrets that hold tokens of service accounts
 *   storage-migrator.ts               gives stored objects the form of today; stored-objects.ts: how they lie
 *   bootstrap-signer.ts, token-cleaner.ts   what bootstrap tokens sign, and their end
 *
 * Loops that keep one thing right are a runSyncLoop (sync-loop.ts); those with many objects have a
 * WorkQueue (work-queue.ts) of their own.
 */
import type { PartitionId } from "../../storage/objects/keys.js";
import type { ApiObject, ObjectMeta } from "../api/meta.js";

/** A stored resource in the version that it is stored in. */
export interface ControlledResource {
  /** Tells resources apart; a definition may change, and then the rest. */
  readonly partition: PartitionId;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
}

/** What says enough of an object to decide whether to look at it. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** Takes what happens to the objects of a resource. Must be quick and not throw. */
export interface Follower {
  /** What was told before is void: all objects that there are come next, as changed. */
  began(): void;
  /** The object is there, as its metadata says. */
  changed(metadata: ObjectMeta): void;
  /** It is gone; its last metadata, or only its place when that could not be read. */
  removed(metadata: ObjectMeta): void;
  /** Such objects are served no more: what was told is void. */
  ended?(): void;
}

/** On what condition an object is to be deleted, and what becomes of its dependents. */
export interface RemoveOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy: "Background" | "Foreground" | "Orphan";
}

/** Objects of one moment. */
export interface ObjectsSnapshot {
  readonly count: number;
  /** Parsed as they are read; an object that cannot be read is only counted. */
  readonly objects: Iterable<ApiObject>;
}

export interface ObjectsApi {
  /** Every stored resource once, in discovery order, as of now. */
  readonly resources: readonly ControlledResource[];
  /** @throws {Error} when it is not served */
  resource(group: string, resource: string): ControlledResource;
  /** The resource of a kind as objects refer to it ("apps/v1", "Deployment"); undefined = not served. */
  byKind(apiVersion: string, kind: string): ControlledResource | undefined;
  /** From memory: the metadata alone, which costs less. An object that cannot be read is there. */
  metadata(resource: ControlledResource, key: ObjectKey): ObjectMeta | "unreadable" | undefined;
  /** From memory; may lag behind, as writes decide. Has its resourceVersion. */
  get(resource: ControlledResource, key: ObjectKey): ApiObject | undefined;
  /** From memory; "" = all namespaces. */
  list(resource: ControlledResource, namespace: string): readonly ApiObject[];
  /** The objects of a namespace as they are now, however long it takes to read them. */
  snapshot(resource: ControlledResource, namespace: string): ObjectsSnapshot;
  /** How many objects a namespace holds, from memory. */
  count(resource: ControlledResource, namespace: string): number;
  /** Memory holds every write acknowledged before the call, and followers were told of it. */
  refresh(): Promise<void>;
  create(resource: ControlledResource, object: ApiObject, signal: AbortSignal): Promise<ApiObject>;
  /** Conditional on the object's resourceVersion, where it has one. */
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
  /** Begins the deletion of everything in a namespace. */
  deleteAll(resource: ControlledResource, namespace: string, signal: AbortSignal): Promise<void>;
  /**
   * Calls back for every object that there is, then for each that changes, until the signal aborts or
   * the resource is served no more. The callback must be quick and not throw: it only notes what to
   * look at.
   */
  watch(
    resource: ControlledResource,
    onChange: (key: ObjectKey) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** As watch, for loops that keep an index of their own. The first objects come before it returns. */
  follow(resource: ControlledResource, follower: Follower, signal: AbortSignal): Promise<void>;
  /**
   * Runs `task` for each resource that is wanted: those that are served, at once, and those that come,
   * when they do. Tasks end with the signal, and by themselves when their resource goes.
   */
  runForEach(
    isWanted: (resource: ControlledResource) => boolean,
    task: (resource: ControlledResource, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
}
