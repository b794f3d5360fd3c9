/** Rules for APIServices: group-version, priorities and the serving Service. */

import { invalidValue, invalidValues, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDns1035Label } from "../../api/validation-names.js";
import {
  type Maybe,
  validateChoice,
  validateDnsSubdomain,
  validateServicePort,
  type Whole,
} from "../../api/validation-values.js";
import { type Rules, validated } from "../generic/validated.js";

interface ApiService extends ApiObject {
  spec?: {
    readonly group?: string;
    readonly version?: string;
    readonly groupPriorityMinimum?: Whole;
    readonly versionPriority?: Whole;
    readonly service?: Maybe<{
      readonly namespace?: string;
      readonly name?: string;
      readonly port?: Maybe<Whole>;
    }>;
    readonly caBundle?: Maybe<string>;
    readonly insecureSkipTLSVerify?: boolean;
  };
  status?: { readonly conditions?: Maybe<readonly { readonly status?: string }[]> };
}

const GROUP_PRIORITY_MAX = 20_000;
const VERSION_PRIORITY_MAX = 1_000;

const apiServiceRules: Rules<ApiService> = {
  object({ metadata, spec = {} }) {
    const errors = new Problems();
    const { group = "", version = "" } = spec;
    if (metadata.name !== `${version}.${group}`) {
      const why = `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(`${version}.${group}`)}`;
      errors.push(invalidValue("metadata.name", metadata.name, why));
    }
    if (group !== "") {
      validateDnsSubdomain(group, "spec.group", errors);
    } else if (version !== "v1") {
      errors.push(
        requiredValue("spec.group", "only v1 may have an empty group and it better be legacy kube"),
      );
    }
    errors.push(...invalidValues("spec.version", version, checkDns1035Label(version)));
    for (const [member, max] of [
      ["groupPriorityMinimum", GROUP_PRIORITY_MAX],
      ["versionPriority", VERSION_PRIORITY_MAX],
    ] as const) {
      const priority = spec[member] ?? 0;
      if (priority > 0 && priority <= max) continue;
      errors.push(invalidValue(`spec.${member}`, priority, positiveText(max)));
    }
    validateServer(spec, errors);
    return errors;
  },
  status: validateStatus,
};

const STATES = ["True", "False", "Unknown"];

function validateStatus({ status }: ApiService): FieldError[] {
  const errors = new Problems();
  status?.conditions?.forEach(({ status: state = "" }, index) => {
    validateChoice(state, `status.conditions[${index}].status`, STATES, errors);
  });
  return errors;
}

function positiveText(max: number): string {
  return `must be positive and less than ${max}`;
}

function validateServer(spec: NonNullable<ApiService["spec"]>, errors: FieldError[]): void {
  const { service, caBundle, insecureSkipTLSVerify } = spec;
  const hasBundle = (caBundle ?? "") !== "";
  if (!service) {
    const local = "local APIServices may not";
    if (hasBundle) {
      errors.push(invalidValue("spec.caBundle", caBundle, `${local} have a caBundle`));
    }
    if (insecureSkipTLSVerify === true) {
      const why = `${local} have insecureSkipTLSVerify`;
      errors.push(invalidValue("spec.insecureSkipTLSVerify", true, why));
    }
    return;
  }
  const { namespace = "", name = "", port } = service;
  if (namespace === "") errors.push(requiredValue("spec.service.namespace"));
  if (name === "") errors.push(requiredValue("spec.service.name"));
  validateServicePort(port, "spec.service.port", errors);
  if (insecureSkipTLSVerify === true && hasBundle) {
    const why = "may not be true if caBundle is present";
    errors.push(invalidValue("spec.insecureSkipTLSVerify", true, why));
  }
}

export const validatesApiService = validated(apiServiceRules);
