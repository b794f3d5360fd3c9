/** Rules that tests of admission bring: policies, their bindings and webhooks, about ConfigMaps. */
import type { AdmissionHook } from "../../server/admission/testing/admission-webhook.js";

export const RULES = "/apis/admissionregistration.k8s.io/v1";
export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
export const API_VERSION = "admissionregistration.k8s.io/v1";

export const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: ["configmaps"],
};

export function policy(name: string, expression: string, message: string): object {
  return {
    apiVersion: API_VERSION,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: "mine", expression: `'${name}' in object.data` }],
      validations: [{ expression, message }],
    },
  };
}

export function binding(name: string, ...validationActions: string[]): object {
  return {
    apiVersion: API_VERSION,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name, validationActions },
  };
}

export const configMap = (name: string, data: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

/** A webhook of a configuration, about what the rule says. */
export function webhook(name: string, hook: AdmissionHook, about: Partial<typeof rule>): object {
  return {
    name,
    clientConfig: hook.clientConfig(),
    rules: [{ ...rule, ...about }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
}
