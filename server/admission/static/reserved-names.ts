/**
 * Rules from files have a reserved name suffix, so that they are never confused with API rules. API
 * requests for such names are refused if files are allowed, and get a warning otherwise.
 */
import { invalidValue } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { invalid } from "../../api/status.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  WRITES,
} from "../admission.js";
import { isExempt } from "../matching/rule-context.js";

/** ".static.k8s.io" */
export function staticSuffix({ groupDomain }: Naming): string {
  return `.static.${groupDomain}`;
}

export class ReservedNames implements AdmissionPlugin {
  readonly name = "ReservedNames";
  readonly #naming: Naming;
  readonly #isReserved: boolean;

  constructor(naming: Naming, isReserved: boolean) {
    this.#naming = naming;
    this.#isReserved = isReserved;
  }

  readonly handles: Handles = (operation, resource, subresource) =>
    WRITES.includes(operation) && subresource === "" && isExempt(this.#naming, resource);

  validate(attributes: AdmissionAttributes): undefined {
    const { operation, resource, object } = attributes;
    const name = object?.metadata.name ?? "";
    const suffix = staticSuffix(this.#naming);
    if (!name.endsWith(suffix)) return;
    const what = `names ending with ${JSON.stringify(suffix)}`;
    if (this.#isReserved && operation === "CREATE") {
      const why = `${what} are reserved for static manifest-based configurations and cannot be managed via the API`;
      throw invalid(resource, name, [invalidValue("metadata.name", name, why)]);
    }
    attributes.warn(
      `metadata.name: ${what} will be reserved for static manifest-based configurations when the ManifestBasedAdmissionControlConfig feature gate is enabled`,
    );
  }
}
