/**
 * StoredObjects: a resource's objects in their stored form, for the loop that rewrites them in today's form.
 * All other loops see them as served, which hides the difference.
 */
import type { InspectedRange } from "../../storage/kv/converting-store.js";
import type { RangeRequest } from "../../storage/kv/store.js";
import { decodeStoredObject } from "../../storage/objects/decode-object.js";
import { objectPath } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { formatGroupVersion } from "../api/names.js";
import type { MainResource } from "../kinds/served-resource.js";
import type { Registry } from "../registry/registry.js";
import { type Rewritten, rewriteObject } from "../registry/write/rewrite.js";
import type { ControlledResource, ObjectKey } from "./objects-api.js";

/** Reports how each value is stored. Implemented by storage/kv. */
export interface InspectableStore {
  inspect(request: RangeRequest, signal: AbortSignal): Promise<InspectedRange>;
}

export interface StoredEntry extends ObjectKey {
  /** Whether its version, form or encryption differs from today's. */
  readonly isStale: boolean;
}

export interface StoredPage {
  readonly entries: readonly StoredEntry[];
  /** Start of the next page; undefined = none. */
  readonly next: string | undefined;
  /** The store's revision at the answer. */
  readonly revision: number;
}

export interface StoredObjects {
  /** @param after start of the page, "" = the first. @throws {StorageError} */
  page(resource: ControlledResource, after: string, signal: AbortSignal): Promise<StoredPage>;
  /** Prepares what several objects need at once. @throws {StatusError} */
  prepare(
    resource: ControlledResource,
    entries: readonly ObjectKey[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Like rewriteObject. @throws {StatusError} */
  rewrite(
    resource: ControlledResource,
    entry: StoredEntry,
    signal: AbortSignal,
  ): Promise<Rewritten>;
}

/** Objects per read of the store: none is larger than 1.5 MB. */
const PAGE_OBJECTS = 100;

export function createStoredObjects(registry: Registry, store: InspectableStore): StoredObjects {
  const { keys } = registry.view;
  const servedOf = ({ partition, resource }: ControlledResource): MainResource => {
    const found = registry.catalog.current.stored(partition);
    if (found === undefined) throw new Error(`${resource} is not served`);
    return found;
  };
  return {
    async page({ partition, ...resource }, after, signal) {
      const prefix = keys.partitionPrefix(partition);
      const request = { prefix, limit: PAGE_OBJECTS, ...(after !== "" && { after }) };
      const { kvs, more, revision, stale } = await store.inspect(request, signal);
      const served = servedOf({ partition, ...resource });
      const entries: StoredEntry[] = [];
      for (const { key, value, modRevision } of kvs) {
        const parsed = keys.parse(key);
        if (parsed === undefined) continue;
        const object = decodeStoredObject(parsed, value, modRevision, undefined);
        const { namespace, name } = parsed;
        const isStale = stale.has(key) || !isOfVersion(object, served);
        entries.push({ namespace, name, isStale });
      }
      return { entries, next: more ? kvs.at(-1)?.key : undefined, revision };
    },
    async prepare(resource, entries, signal) {
      const { conversion } = servedOf(resource);
      if (conversion?.remote === undefined) return;
      const partition = registry.view.partition(resource.partition);
      const objects = entries
        .map(({ namespace, name }) => partition.get(objectPath(namespace, name)))
        .filter((object) => object !== undefined);
      await conversion.remote.prepare(objects, signal);
    },
    rewrite: (resource, { namespace, name, isStale }, signal) =>
      rewriteObject(registry, { resource: servedOf(resource), namespace, name, isStale }, signal),
  };
}

/** Whether an object states its kind's storage version; false for an unreadable one. */
function isOfVersion({ corruption, bytes }: StoredObject, { kind, fact }: MainResource): boolean {
  if (corruption !== undefined || fact.stored === undefined) return false;
  const head = `{"kind":"${kind}","apiVersion":"${formatGroupVersion(fact.stored)}",`;
  return bytes.toString("latin1", 0, head.length) === head;
}
