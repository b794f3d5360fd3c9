/**
 * NamespaceLifecycle: protects the namespaces that every client relies on from deletion. The registry
 * itself refuses creates in missing or terminating namespaces, in the create's transaction.
 */
import type { Naming } from "../api/naming.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  refuse,
} from "./admission.js";

export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = "NamespaceLifecycle";
  readonly handles = handlesOnly({ group: "", resource: "namespaces" }, ["DELETE"]);
  readonly #immortal: ReadonlySet<string>;

  constructor({ systemNamespace, publicNamespace }: Naming) {
    this.#immortal = new Set(["default", systemNamespace, publicNamespace]);
  }

  validate(attributes: AdmissionAttributes): undefined {
    if (!this.#immortal.has(attributes.name)) return;
    throw refuse(attributes, "this namespace may not be deleted");
  }
}
