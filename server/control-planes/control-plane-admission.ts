/**
 * What the server says about ControlPlanes that are written: who makes one is kept in an annotation that nobody else can
 * write, as it decides who administers it; and the server's finalizer lets the content go before the object.
 */
import type {
  AdmissionAttributes,
  AdmissionOperation,
  AdmissionPlugin,
  AdmissionResource,
} from "../admission/admission.js";
import { refuse } from "../admission/admission.js";
import type { Naming } from "../api/naming.js";
import {
  CONTROL_PLANES,
  contentFinalizer,
  controlPlaneGroup,
  creatorAnnotation,
} from "./definition.js";

/** The longest DNS label, as names are parts of host names. */
const NAME_CHARS_MAX = 63;

export class ControlPlaneAdmission implements AdmissionPlugin {
  readonly name = "ControlPlanes";
  readonly #naming: Naming;

  constructor(naming: Naming) {
    this.#naming = naming;
  }

  handles(
    operation: AdmissionOperation,
    { group, resource }: AdmissionResource,
    subresource: string,
  ): boolean {
    if (group !== controlPlaneGroup(this.#naming) || resource !== CONTROL_PLANES) return false;
    return subresource === "" && (operation === "CREATE" || operation === "UPDATE");
  }

  mutate({ operation, object, oldObject, user }: AdmissionAttributes): boolean {
    if (object === undefined) return false;
    const key = creatorAnnotation(this.#naming);
    const creator = operation === "CREATE" ? user.name : oldObject?.metadata.annotations?.[key];
    const { [key]: given, ...others } = object.metadata.annotations ?? {};
    let hasChanged = given !== creator;
    if (hasChanged) {
      const annotations = creator === undefined ? others : { ...others, [key]: creator };
      object.metadata = { ...object.metadata, annotations };
    }
    const finalizer = contentFinalizer(this.#naming);
    const { finalizers = [] } = object.metadata;
    if (operation === "CREATE" && !finalizers.includes(finalizer)) {
      object.metadata = { ...object.metadata, finalizers: [...finalizers, finalizer] };
      hasChanged = true;
    }
    return hasChanged;
  }

  validate(attributes: AdmissionAttributes): undefined {
    const { operation, object } = attributes;
    const name = object?.metadata.name ?? "";
    if (operation !== "CREATE" || (name.length <= NAME_CHARS_MAX && !name.includes("."))) return;
    throw refuse(attributes, "the name of a control plane must be a DNS label of 63 characters");
  }
}
