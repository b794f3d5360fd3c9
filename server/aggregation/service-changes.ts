/**
 * Tells of changes of Services and of their EndpointSlices, in the feed's turn, so that what depends on a Service
 * is looked at again at once.
 */
import type { PartitionObserver } from "../../storage/cache/partition-observer.js";
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Naming } from "../api/naming.js";

/** The part of the view that it follows. */
export interface FollowedView {
  partition(id: PartitionId): { observe(observer: PartitionObserver): void };
}

/** Undefined names stand for all Services. */
export type ServiceListener = (changed?: { namespace: string; name: string }) => void;

export class ServiceChanges {
  readonly #listeners = new Set<ServiceListener>();

  /** Before the view has started. */
  constructor(view: FollowedView, { groupDomain, labelDomain }: Naming) {
    const label = `${labelDomain}/service-name`;
    this.#follow(view, partitionId("", "services"), ({ name }) => name);
    this.#follow(
      view,
      partitionId(`discovery.${groupDomain}`, "endpointslices"),
      ({ labels }) => labels[label],
    );
  }

  subscribe(listener: ServiceListener): void {
    this.#listeners.add(listener);
  }

  #follow(
    view: FollowedView,
    partition: PartitionId,
    serviceOf: (object: StoredObject) => string | undefined,
  ): void {
    const tell = (object: StoredObject) => {
      const name = serviceOf(object);
      if (name === undefined) return;
      for (const listener of this.#listeners) listener({ namespace: object.namespace, name });
    };
    view.partition(partition).observe({
      replaced: () => {
        for (const listener of this.#listeners) listener();
      },
      put(object, previous) {
        // It may have been another Service's before.
        if (previous !== undefined && serviceOf(previous) !== serviceOf(object)) tell(previous);
        tell(object);
      },
      deleted: tell,
    });
  }
}
