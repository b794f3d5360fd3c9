/**
 * Strategy of core/v1 Namespace. A namespace is deleted in two phases: a delete makes it
 * Terminating, the namespace controller empties it and removes its finalizer from `spec.finalizers`
 * through the finalize subresource, and then it is removed (S1-GEN-19).
 */
import type { ApiObject } from "../../api/meta.js";
import { checkDnsLabelName } from "../../api/validation-names.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { SPEC_OR_STATUS } from "../generic/status-parts.js";
import { validatesNamespace } from "./validate-cluster.js";

interface NamespaceObject extends ApiObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string };
}

export const namespaceStrategy: ResourceStrategy = {
  resetFields: { ...SPEC_OR_STATUS, finalize: ["status"] },
  // Webhooks select namespaces by it.
  prepareForAdmission: (next, { naming }) => labelWithName(next, naming.labelDomain),
  prepareForCreate(next: NamespaceObject, { naming }) {
    const own = naming.namespaceFinalizer;
    const finalizers = next.spec?.finalizers ?? [];
    next.spec = { finalizers: finalizers.includes(own) ? finalizers : [...finalizers, own] };
    next.status = { phase: "Active" };
    labelWithName(next, naming.labelDomain);
  },
  prepareForUpdate(next: NamespaceObject, current: NamespaceObject, { subresource, naming }) {
    if (subresource === "finalize") {
      if (current.status === undefined) delete next.status;
      else next.status = current.status;
    } else {
      next.spec = { ...current.spec };
    }
    labelWithName(next, naming.labelDomain);
  },
  ...validatesNamespace,
  validateName: checkDnsLabelName,
  beginDeletion(object: NamespaceObject) {
    object.status = { ...object.status, phase: "Terminating" };
  },
  isRemovable: (object: NamespaceObject) => (object.spec?.finalizers?.length ?? 0) === 0,
  selectableFields: (object) => {
    const { status } = object as { status?: { phase?: string } };
    return { "status.phase": status?.phase ?? "" };
  },
  selectableFieldNames: ["status.phase"],
};

/** Selectors find a namespace by this label, which always equals its name. */
function labelWithName({ metadata }: ApiObject, labelDomain: string): void {
  const { name } = metadata;
  if (name === undefined || name === "") return;
  metadata.labels = { ...metadata.labels, [`${labelDomain}/metadata.name`]: name };
}
