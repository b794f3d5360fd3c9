/** Rules for RuntimeClasses. */

import { duplicateValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateLabels } from "../../api/validation-metadata.js";
import { validateTolerations } from "../../api/validation-tolerations.js";
import { type Maybe, validateDnsLabel } from "../../api/validation-values.js";
import type { ResourceList, Toleration } from "../core/pod-types.js";
import { validateResourceAmount, validateResourceName } from "../core/resource-amounts.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

interface RuntimeClass extends ApiObject {
  handler?: string;
  overhead?: Maybe<{ readonly podFixed?: Maybe<ResourceList> }>;
  scheduling?: Maybe<{
    readonly nodeSelector?: Maybe<Readonly<Record<string, string>>>;
    readonly tolerations?: Maybe<readonly Toleration[]>;
  }>;
}

const runtimeClassRules: Rules<RuntimeClass> = {
  object({ handler = "", overhead, scheduling }, { naming }) {
    const errors = new Problems();
    if (handler !== "") {
      validateDnsLabel(handler, "handler", errors);
    }
    const { labelDomain } = naming;
    const amounts = overhead?.podFixed;
    for (const name in amounts) {
      const field = `overhead.limits[${name}]`;
      validateResourceName(name, field, { labelDomain, use: "container", errors });
      validateResourceAmount(name, field, { amount: amounts[name] ?? "0", labelDomain, errors });
    }
    const { nodeSelector, tolerations } = scheduling ?? {};
    if (nodeSelector) validateLabels(nodeSelector, "scheduling.nodeSelector", errors);
    if (tolerations) {
      validateTolerations(tolerations, "scheduling.tolerations", errors);
      validateDistinct(tolerations, "scheduling.tolerations", errors);
    }
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["handler"]),
};

/** Two tolerations of the same taint would say nothing more. */
function validateDistinct(
  tolerations: readonly Toleration[],
  field: string,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  tolerations.forEach((toleration, index) => {
    const { key, operator, value, effect, tolerationSeconds } = toleration;
    const parts = [key ?? "", operator ?? "Equal", value ?? "", effect ?? "", tolerationSeconds];
    const text = JSON.stringify(parts.map((part) => (part === undefined ? null : String(part))));
    if (seen.has(text)) errors.push(duplicateValue(`${field}[${index}]`, toleration));
    seen.add(text);
  });
}

export const validatesRuntimeClass = validated(runtimeClassRules);
