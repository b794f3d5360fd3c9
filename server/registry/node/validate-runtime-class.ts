/** Rules for RuntimeClasses. */

import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import { validateLabels } from "../../api/validation-metadata.js";
import { checkDnsLabel } from "../../api/validation-names.js";
import type { Maybe } from "../../api/validation-values.js";
import type { Quantities, Toleration } from "../core/pod-types.js";
import { validateResourceAmount, validateResourceName } from "../core/resource-amounts.js";
import { validateTolerations } from "../core/validate-scheduling.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

interface RuntimeClass extends ApiObject {
  handler?: string;
  overhead?: Maybe<{ readonly podFixed?: Maybe<Quantities> }>;
  scheduling?: Maybe<{
    readonly nodeSelector?: Maybe<Readonly<Record<string, string>>>;
    readonly tolerations?: Maybe<readonly Toleration[]>;
  }>;
}

const runtimeClassRules: Rules<RuntimeClass> = {
  object({ handler = "", overhead, scheduling }, { naming }) {
    const errors = new Problems();
    if (handler !== "") {
      for (const why of checkDnsLabel(handler)) errors.push(invalidValue("handler", handler, why));
    }
    const { labelDomain } = naming;
    const amounts = overhead?.podFixed;
    for (const name in amounts) {
      const field = `overhead.podFixed.limits[${name}]`;
      validateResourceName(name, field, { labelDomain, use: "container", errors });
      validateResourceAmount(name, field, { amount: amounts[name] ?? "0", labelDomain, errors });
    }
    const { nodeSelector, tolerations } = scheduling ?? {};
    if (nodeSelector) validateLabels(nodeSelector, "scheduling.nodeSelector", errors);
    if (tolerations) validateTolerations(tolerations, "scheduling.tolerations", errors);
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["handler"]),
};

export const validatesRuntimeClass = validated(runtimeClassRules);
