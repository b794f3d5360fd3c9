/** LocalObjects: the objects API for loops inside a replica. */
import { nextTurn } from "../../storage/base/next-turn.js";
import type { EventType, ObjectEvent } from "../../storage/cache/event-ring.js";
import { inPages } from "../../storage/cache/in-pages.js";
import type { ObjectTree } from "../../storage/cache/object-tree.js";
import { objectPath } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../api/meta.js";
import { compileSelector } from "../api/selectors.js";
import type { Registry, WriteOptions } from "../registry/registry.js";
import { createObject } from "../registry/write/create.js";
import { deleteObject } from "../registry/write/delete.js";
import { deleteCollection } from "../registry/write/delete-collection.js";
import { updateObject } from "../registry/write/update.js";
import type { SignalSource } from "../request/lazy-signal.js";
import { SERVER_USER } from "../request/user-info.js";
import { type NamedCause, WriteNotes } from "../request/write-notes.js";
import { parseJson } from "../schema/parse-json.js";
import { ControlledResources } from "./controlled-resources.js";
import type { ControlledResource, Follower, ObjectsApi, OwnerState } from "./objects-api.js";
import { deletionOf } from "./owner-graph.js";
import { readMetadata } from "./stored-metadata.js";

/** @param fieldManager the name under which they own fields */
export function createLocalObjects(
  registry: Registry,
  fieldManager = "keelson-controllers",
): ObjectsApi {
  return localObjects({
    registry,
    fieldManager,
    resources: new ControlledResources(registry.catalog),
    cause: undefined,
  });
}

interface LocalParts {
  readonly registry: Registry;
  readonly fieldManager: string;
  readonly resources: ControlledResources;
  /** What their writes name. */
  readonly cause: NamedCause | undefined;
}

function localObjects(parts: LocalParts): ObjectsApi {
  const { registry, fieldManager, resources, cause } = parts;
  const options: WriteOptions = {
    isDryRun: false,
    fieldManager,
    fieldValidation: "Ignore",
    user: SERVER_USER,
    warn() {},
  };
  const noted = (signal: AbortSignal, base: string | undefined): SignalSource => {
    if (registry.recorder === undefined) return signal;
    const notes = new WriteNotes();
    notes.fieldManager = options.fieldManager;
    notes.nameBase(base);
    if (cause !== undefined) notes.add(cause);
    return { signal, notes };
  };
  const partitionOf = (resource: ControlledResource) => registry.view.partition(resource.partition);

  return {
    because: (next) => localObjects({ ...parts, cause: next }),
    get resources() {
      return resources.all;
    },
    resource: (group, resource) => resources.require(group, resource),
    byKind: (apiVersion, kind) => resources.byKind(apiVersion, kind),
    metadata(resource, { namespace, name }) {
      const found = partitionOf(resource).get(objectPath(namespace, name));
      if (found === undefined) return undefined;
      return readMetadata(found) ?? "unreadable";
    },
    owner(resource, { namespace, name }) {
      const found = partitionOf(resource).get(objectPath(namespace, name));
      return found === undefined ? undefined : ownerStateOf(found);
    },
    allMetadata: (resource, namespace) =>
      readAll(partitionOf(resource).snapshot().tree, namespace, readMetadata),
    names(resource) {
      const names: string[] = [];
      partitionOf(resource)
        .snapshot()
        .tree.visit("", "", (stored) => {
          names.push(stored.path);
          return undefined;
        });
      return names;
    },
    get(resource, { namespace, name }) {
      const found = partitionOf(resource).get(objectPath(namespace, name));
      return found === undefined ? undefined : parseStored(found);
    },
    list(resource, namespace) {
      const objects: ApiObject[] = [];
      partitionOf(resource)
        .snapshot()
        .tree.visit(namespace, "", (stored) => {
          const object = parseStored(stored);
          if (object !== undefined) objects.push(object);
          return undefined;
        });
      return objects;
    },
    snapshot(resource, namespace) {
      const { tree } = partitionOf(resource).snapshot();
      return { count: tree.count(namespace, ""), objects: readAll(tree, namespace, parseStored) };
    },
    count: (resource, namespace) => partitionOf(resource).snapshot().tree.count(namespace, ""),
    async refresh() {
      await registry.freshness.fresh();
      // The view notifies its watchers after the batch, in a separate turn.
      await nextTurn();
    },
    async create(resource, object, signal) {
      const request = {
        resource: resources.servedOf(resource),
        namespace: object.metadata.namespace ?? "",
        input: inputOf(object),
        options,
      };
      return parseAnswer((await createObject(registry, request, noted(signal, undefined))).bytes);
    },
    async update(resource, object, subresource, signal) {
      const target = {
        resource: resources.servedOf(resource),
        namespace: object.metadata.namespace ?? "",
        name: object.metadata.name ?? "",
        subresource,
        options,
        input: inputOf(object),
      };
      const told = noted(signal, object.metadata.resourceVersion);
      return parseAnswer((await updateObject(registry, target, told)).bytes);
    },
    async remove(resource, { namespace, name }, removal, signal) {
      const { propagationPolicy, gracePeriodSeconds, ...preconditions } = removal;
      const conditions = {
        ...{ isDryRun: false, propagationPolicy, preconditions },
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      };
      const target = {
        resource: resources.servedOf(resource),
        namespace,
        name,
        options: conditions,
      };
      await deleteObject(registry, target, noted(signal, preconditions.resourceVersion));
    },
    async deleteAll(resource, namespace, signal) {
      const target = {
        resource: resources.servedOf(resource),
        namespace,
        selector: compileSelector({ namespace }),
        // Dependents are deleted with the namespace, so none need to be orphaned.
        options: { isDryRun: false, propagationPolicy: "Background" as const },
      };
      await deleteCollection(registry, target, noted(signal, undefined));
    },
    async watch(resource, onChange, signal) {
      const take = (_type: unknown, object: StoredObject) => onChange(object);
      while (!signal.aborted && resources.isServed(resource)) {
        await observe(registry, resource, take, signal);
        await pause(registry, signal);
      }
    },
    async follow(resource, follower, signal) {
      while (!signal.aborted && resources.isServed(resource)) {
        follower.began();
        await observe(registry, resource, (type, object) => tell(follower, type, object), signal);
        await pause(registry, signal);
      }
      follower.ended?.();
    },
    runForEach: (isWanted, task, signal) => resources.runForEach(isWanted, task, signal),
  };
}

/** A watch that fails to start is retried after a pause. */
const PAUSE_MS = 50;

async function pause({ clock }: Registry, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(PAUSE_MS, signal);
  } catch {
    // The enclosing loop checks for the end.
  }
}

function tell(follower: Follower, type: EventType, object: StoredObject): void {
  if (type !== "DELETED" && follower.ignores?.(object) === true) return;
  const metadata = readMetadata(object);
  const { namespace, name } = object;
  if (type === "DELETED") follower.removed(metadata ?? { namespace, name });
  else if (metadata !== undefined) follower.changed(metadata);
}

/** Runs until the signal aborts, or until the view was reloaded and everything must be checked again. */
function observe(
  registry: Registry,
  resource: ControlledResource,
  take: (type: EventType, object: StoredObject) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const partition = registry.view.partition(resource.partition);
    const { tree, revision } = partition.snapshot();
    const sink = {
      send(type: EventType, { state }: ObjectEvent) {
        take(type, state);
        return true;
      },
      cork() {},
      uncork() {},
      lost: () => end(),
      ended: () => end(),
    };
    const watcher = partition.watch(
      { scope: { namespace: "" }, matches: () => true, sink },
      revision,
    );
    const end = () => {
      signal.removeEventListener("abort", end);
      watcher?.close();
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted || watcher === undefined) return end();
    tree.visit("", "", (object) => {
      take("ADDED", object);
      return undefined;
    });
    watcher.resume();
  });
}

function* readAll<T>(
  tree: ObjectTree,
  namespace: string,
  read: (stored: StoredObject) => T | undefined,
): Generator<T, void> {
  for (const stored of inPages(tree, namespace)) {
    const object = read(stored);
    if (object !== undefined) yield object;
  }
}

function inputOf(object: ApiObject) {
  return { value: object as unknown as JsonValue, duplicateFields: [] };
}

/** Of objects that others name as owners: the metadata of one may be a megabyte, and thousands may name it. */
const OWNER_STATES = new WeakMap<StoredObject, OwnerState>();

function ownerStateOf(object: StoredObject): OwnerState | "unreadable" {
  const known = OWNER_STATES.get(object);
  if (known !== undefined) return known;
  const metadata = readMetadata(object);
  if (metadata === undefined) return "unreadable";
  const state = { uid: metadata.uid, deletion: deletionOf(metadata) };
  OWNER_STATES.set(object, state);
  return state;
}

/** Unreadable objects are left to administrators (S1-UNS-08). */
function parseStored(object: StoredObject): ApiObject | undefined {
  return object.corruption === undefined ? parseAnswer(object.bytes) : undefined;
}

function parseAnswer(bytes: Buffer): ApiObject {
  return parseJson(bytes) as unknown as ApiObject;
}
