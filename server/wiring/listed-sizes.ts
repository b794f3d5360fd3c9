/** The view's sizes of the collection that a request names. */
import type { CollectionSize } from "../../storage/cache/namespace-sizes.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import type { RequestInfo } from "../request/request-info.js";

export interface Collections {
  readonly view: RegistryView;
  readonly catalog: CatalogSource;
}

/** @returns undefined for a resource that is not served */
export function partitionOf({ view, catalog }: Collections, info: RequestInfo) {
  const resource = catalog.current.findMain(info.group, info.version, info.resource);
  return resource && view.partition(resource.partition);
}

/** The size of the objects in a namespace; "" = all. */
export function sizesOf(collections: Collections) {
  return (info: RequestInfo, namespace: string): CollectionSize | undefined =>
    partitionOf(collections, info)?.sizeIn(namespace);
}
