/** Refuses writes by which a control plane would have more objects, or more bytes, than its limits say. */
import type { RegistryView } from "../../storage/cache/registry-view.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  refuse,
  WRITES,
} from "../admission/admission.js";
import type { ControlPlaneLimits } from "./control-plane-index.js";

/** A member that is not there takes none. */
function bytesOf(object: object | undefined): number {
  return object === undefined ? 0 : Buffer.byteLength(JSON.stringify(object));
}

/** What a control plane has now. */
export interface ControlPlaneSize {
  readonly objects: number;
  readonly bytes: number;
}

export function sizeOf(view: RegistryView): ControlPlaneSize {
  let objects = 0;
  let bytes = 0;
  for (const { size, objectBytes } of view.partitions) {
    objects += size;
    bytes += objectBytes;
  }
  return { objects, bytes };
}

export class LimitGuard implements AdmissionPlugin {
  readonly name = "ControlPlaneLimits";
  readonly #view: RegistryView;
  readonly #limits: () => ControlPlaneLimits;

  /** @param limits as they are now */
  constructor(view: RegistryView, limits: () => ControlPlaneLimits) {
    this.#view = view;
    this.#limits = limits;
  }

  readonly handles: Handles = (operation, _resource, subresource) =>
    (subresource === "" || subresource === "status") && WRITES.includes(operation);

  validate(attributes: AdmissionAttributes): undefined {
    const { objects: objectsMax, bytes: bytesMax } = this.#limits();
    if (objectsMax === undefined && bytesMax === undefined) return;
    const { objects, bytes } = sizeOf(this.#view);
    const { operation, object, oldObject } = attributes;
    if (operation === "CREATE" && objectsMax !== undefined && objects >= objectsMax) {
      throw refuse(
        attributes,
        `the control plane has ${objects} objects, its limit is ${objectsMax}`,
      );
    }
    // What is over already may get smaller.
    if (bytesMax === undefined) return;
    const more = bytesOf(object) - bytesOf(oldObject);
    if (more <= 0 || bytes + more <= bytesMax) return;
    const what = `the control plane has ${bytes} bytes, its limit is ${bytesMax}`;
    throw refuse(attributes, bytes < bytesMax ? `${what}, and this is ${more} more` : what);
  }
}
