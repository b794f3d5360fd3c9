/**
 * ObjectsApi: all that a control loop does with objects. Loops run inside a replica, where reads are
 * the view's memory and writes are the registry's functions (local-objects.ts); a loop that runs
 * elsewhere would get another implementation that speaks HTTP.
 *
 *   run-controllers.ts   leader election around all loops     work-queue.ts   what to look at, and when
 *   namespace-controller.ts  empties and removes namespaces   lease-lock.ts   the lock that leaders hold
 */
import type { ApiObject } from "../api/meta.js";

/** A stored resource in the version that it is stored in. */
export interface ControlledResource {
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

export interface ObjectsApi {
  /** Every stored resource once, in discovery order. */
  readonly resources: readonly ControlledResource[];
  /** @throws {Error} when it is not served */
  resource(group: string, resource: string): ControlledResource;
  /** From memory; may lag behind, as writes decide. Has its resourceVersion. */
  get(resource: ControlledResource, key: ObjectKey): ApiObject | undefined;
  /** From memory; "" = all namespaces. */
  list(resource: ControlledResource, namespace: string): readonly ApiObject[];
  /** How many objects a namespace holds, from memory. */
  count(resource: ControlledResource, namespace: string): number;
  /** Memory holds every write acknowledged before the call. */
  refresh(): Promise<void>;
  create(resource: ControlledResource, object: ApiObject, signal: AbortSignal): Promise<ApiObject>;
  /** Conditional on the object's resourceVersion, where it has one. */
  update(
    resource: ControlledResource,
    object: ApiObject,
    subresource: string,
    signal: AbortSignal,
  ): Promise<ApiObject>;
  /** Begins the deletion of everything in a namespace. */
  deleteAll(resource: ControlledResource, namespace: string, signal: AbortSignal): Promise<void>;
  /**
   * Calls back for every object that there is, then for each that changes, until the signal aborts.
   * The callback must be quick and not throw: it only notes what to look at.
   */
  watch(
    resource: ControlledResource,
    onChange: (key: ObjectKey) => void,
    signal: AbortSignal,
  ): Promise<void>;
}
