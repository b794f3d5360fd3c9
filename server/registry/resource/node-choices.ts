/** The ways to say which nodes have a device, for a slice and for one device. Pure. */
import { invalidValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { validateDnsSubdomain } from "../../api/validation-values.js";
import { validateNodeSelector } from "../core/validate-scheduling.js";
import type { NodeChoice } from "./device-types.js";

/** @returns the fields that choose nodes, as messages name them */
export function nodeChoices(
  { nodeName, nodeSelector, allNodes }: NodeChoice,
  field: string,
  whyEmpty: string,
  errors: FieldError[],
): string[] {
  const chosen: string[] = [];
  if (nodeName === "") errors.push(invalidValue(`${field}.nodeName`, "", whyEmpty));
  else if (typeof nodeName === "string") {
    chosen.push("`nodeName`");
    validateDnsSubdomain(nodeName, `${field}.nodeName`, errors);
  }
  if (nodeSelector) {
    chosen.push("`nodeSelector`");
    validateNodeSelector(nodeSelector, `${field}.nodeSelector`, errors);
  }
  if (allNodes === true) chosen.push("`allNodes`");
  if (allNodes === false) {
    const why = "must be either unset or set to true";
    errors.push(invalidValue(`${field}.allNodes`, false, why));
  }
  return chosen;
}
