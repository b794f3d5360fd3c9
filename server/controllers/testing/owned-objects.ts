/** Objects with owners, for tests of the garbage collector: ConfigMaps by name in one namespace. */
import type { ApiObject, JsonObject, OwnerReference } from "../../api/meta.js";
import {
  inputOf,
  noSignal,
  type RegistryHarness,
  writeOptions,
} from "../../registry/testing/registry-harness.js";
import { createObject } from "../../registry/write/create.js";
import { deleteObject } from "../../registry/write/delete.js";
import type { DeleteOptions } from "../../registry/write/delete-options.js";

export interface OwnerSpec {
  readonly name: string;
  readonly uid: string;
  readonly isBlocking?: boolean;
}

export class OwnedObjects {
  readonly #harness: RegistryHarness;
  readonly namespace: string;

  constructor(harness: RegistryHarness, namespace: string) {
    this.#harness = harness;
    this.namespace = namespace;
  }

  async createNamespace(): Promise<void> {
    await this.createOther("", "namespaces", "", { metadata: { name: this.namespace } });
  }

  /** @returns the uid */
  async create(
    name: string,
    owners: readonly OwnerSpec[],
    finalizers: string[] = [],
  ): Promise<string> {
    const ownerReferences = owners.map(reference) as unknown as JsonObject[];
    const metadata = { name, ownerReferences, finalizers };
    const made = await this.createOther("", "configmaps", this.namespace, { metadata });
    return made.metadata.uid ?? "";
  }

  async createOther(
    group: string,
    resource: string,
    namespace: string,
    value: JsonObject,
  ): Promise<ApiObject> {
    const served = this.#harness.resource(group, "v1", resource);
    const request = { resource: served, namespace, input: inputOf(value), options: writeOptions() };
    const { bytes } = await createObject(this.#harness.registry, request, noSignal);
    return JSON.parse(bytes.toString()) as ApiObject;
  }

  async delete(name: string, propagationPolicy: DeleteOptions["propagationPolicy"]): Promise<void> {
    const resource = this.#harness.resource("", "v1", "configmaps");
    const options = { isDryRun: false, propagationPolicy };
    const target = { resource, namespace: this.namespace, name, options };
    await deleteObject(this.#harness.registry, target, noSignal);
  }

  /** The existing objects by name. */
  async read(): Promise<Map<string, ApiObject>> {
    const { registry } = this.#harness;
    await registry.freshness.fresh();
    const found = new Map<string, ApiObject>();
    const { tree } = registry.view.partition("core/configmaps").snapshot();
    tree.visit(this.namespace, "", (stored) => {
      found.set(stored.name, JSON.parse(stored.bytes.toString()) as ApiObject);
      return undefined;
    });
    return found;
  }
}

export function reference({ name, uid, isBlocking = false }: OwnerSpec): OwnerReference {
  const kind = "ConfigMap";
  return { apiVersion: "v1", kind, name, uid, blockOwnerDeletion: isBlocking };
}
