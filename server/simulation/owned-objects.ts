/** What belongs to whom: dependents of a controller, and who is to look when one of them changes. */
import type { ApiObject, ObjectMeta, OwnerReference } from "../api/meta.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "../controllers/objects-api.js";
import {
  compileLabelSelector,
  type LabelSelector,
} from "../registry/subresources/label-selector.js";
import { textOf } from "./keyed-loop.js";

export function ownerReference({ kind, apiVersion, metadata }: ApiObject): OwnerReference {
  const { name = "", uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

export function controllerOf(metadata: ObjectMeta): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isDeleted({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** The objects of a resource that the owner controls, by name. */
export function controlled<T extends ApiObject>(
  objects: ObjectsApi,
  resource: ControlledResource,
  owner: ApiObject,
): T[] {
  const { namespace = "", uid } = owner.metadata;
  return (objects.list(resource, namespace) as T[]).filter(
    ({ metadata }) => controllerOf(metadata)?.uid === uid,
  );
}

/** As `controlled`, behind the adoption of those that the selector matches and that nobody controls. */
export async function claimed<T extends ApiObject>(
  objects: ObjectsApi,
  resource: ControlledResource,
  owner: ApiObject & { readonly spec?: { readonly selector?: LabelSelector } | undefined },
  signal: AbortSignal,
): Promise<T[]> {
  const { selector } = owner.spec ?? {};
  const { namespace = "" } = owner.metadata;
  if (!isDeleted(owner) && selector !== undefined) {
    const orphans = objects.list(resource, namespace).filter((one) => {
      return controllerOf(one.metadata) === undefined && !isDeleted(one);
    });
    for (const orphan of orphans) {
      if (!selectsLabels(selector, orphan.metadata)) continue;
      const ownerReferences = [...(orphan.metadata.ownerReferences ?? []), ownerReference(owner)];
      const metadata = { ...orphan.metadata, ownerReferences };
      await objects.update(resource, { ...orphan, metadata }, "", signal);
    }
    if (orphans.length > 0) await objects.refresh();
  }
  return controlled(objects, resource, owner);
}

export function selectsLabels(
  selector: LabelSelector,
  { namespace = "", name = "", labels }: ObjectMeta,
): boolean {
  return compileLabelSelector(selector, namespace).matches({
    namespace,
    name,
    labels: labels ?? {},
    fields: {},
  });
}

/**
 * For watches of dependents: the key of the owner of one kind. It is remembered, because who is gone cannot be asked
 * any more. One that nobody controls may be for any owner of its namespace.
 */
export class OwnerKeys {
  readonly #objects: ObjectsApi;
  readonly #dependents: ControlledResource;
  readonly #owners: ControlledResource;
  readonly #known = new Map<string, string>();

  constructor(objects: ObjectsApi, dependents: ControlledResource, owners: ControlledResource) {
    this.#objects = objects;
    this.#dependents = dependents;
    this.#owners = owners;
  }

  /** For `watches` of a loop. */
  get watch() {
    return { resource: this.#dependents, keysOf: (key: ObjectKey) => this.keysOf(key) };
  }

  keysOf(key: ObjectKey): readonly string[] {
    const text = textOf(key);
    const before = this.#known.get(text);
    const metadata = this.#objects.metadata(this.#dependents, key);
    if (metadata === undefined || metadata === "unreadable") {
      this.#known.delete(text);
      return before === undefined ? [] : [before];
    }
    const owner = controllerOf(metadata);
    if (owner === undefined) {
      const { namespace } = key;
      return this.#objects
        .list(this.#owners, namespace)
        .map((one) => textOf({ namespace, name: one.metadata.name ?? "" }));
    }
    if (owner.kind !== this.#owners.kind) return [];
    const now = textOf({ namespace: key.namespace, name: owner.name });
    this.#known.set(text, now);
    return before === undefined || before === now ? [now] : [before, now];
  }
}
