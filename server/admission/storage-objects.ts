/**
 * PersistentVolumeClaimResize: a claim grows only if it is bound and its class allows it.
 * StorageObjectInUseProtection: volumes and claims stay as long as they are in use; storage
 * controllers remove the finalizer.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { compareQuantities, parseQuantity } from "../schema/quantity.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  handlesOnly,
  refuse,
} from "./admission.js";
import { type AdmissionView, findObject } from "./stored-objects.js";

interface Claim extends ApiObject {
  spec?: {
    storageClassName?: string | null;
    resources?: { requests?: Record<string, string> };
  };
  status?: { phase?: string };
}

export class PersistentVolumeClaimResize implements AdmissionPlugin {
  readonly name = "PersistentVolumeClaimResize";
  readonly handles = handlesOnly({ group: "", resource: "persistentvolumeclaims" }, ["UPDATE"]);
  readonly #view: AdmissionView;
  readonly #classes: { readonly group: string; readonly resource: string };
  readonly #classAnnotation: string;

  constructor(view: AdmissionView, { groupDomain, labelDomain }: Naming) {
    this.#view = view;
    this.#classes = { group: `storage.${groupDomain}`, resource: "storageclasses" };
    this.#classAnnotation = `volume.beta.${labelDomain}/storage-class`;
  }

  validate(attributes: AdmissionAttributes): undefined {
    const [next, before] = [attributes.object as Claim, attributes.oldObject as Claim];
    const [size, known] = [sizeOf(next), sizeOf(before)];
    if (size === undefined || known === undefined || compareQuantities(size, known) <= 0) return;
    if (before.status?.phase !== "Bound") {
      throw refuse(attributes, "Only bound persistent volume claims can be expanded");
    }
    const [className, knownName] = [this.#classOf(next), this.#classOf(before)];
    const found =
      className === knownName ? findObject(this.#view, this.#classes, "", className) : undefined;
    if ((found as { allowVolumeExpansion?: boolean } | undefined)?.allowVolumeExpansion === true) {
      return;
    }
    const why =
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
    throw refuse(attributes, why);
  }

  #classOf({ metadata, spec }: Claim): string {
    return metadata.annotations?.[this.#classAnnotation] ?? spec?.storageClassName ?? "";
  }
}

function sizeOf({ spec }: Claim) {
  return parseQuantity(spec?.resources?.requests?.storage ?? "");
}

export class StorageObjectInUseProtection implements AdmissionPlugin {
  readonly name = "StorageObjectInUseProtection";
  /** By "group/resource". */
  readonly #finalizers: ReadonlyMap<string, string>;

  constructor({ groupDomain, labelDomain }: Naming) {
    this.#finalizers = new Map([
      ["/persistentvolumes", `${labelDomain}/pv-protection`],
      ["/persistentvolumeclaims", `${labelDomain}/pvc-protection`],
      [`storage.${groupDomain}/volumeattributesclasses`, `${labelDomain}/vac-protection`],
    ]);
  }

  readonly handles: Handles = (operation, { group, resource }, subresource) =>
    operation === "CREATE" && subresource === "" && this.#finalizers.has(`${group}/${resource}`);

  mutate({ object, resource }: AdmissionAttributes): boolean {
    const finalizer = this.#finalizers.get(`${resource.group}/${resource.resource}`);
    if (object === undefined || finalizer === undefined) return false;
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(finalizer)) return false;
    object.metadata.finalizers = [...finalizers, finalizer];
    return true;
  }
}
