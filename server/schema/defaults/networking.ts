/** Defaults of the networking group that depend on other fields. */
import { type DefaultRules, itemsIn, objectIn } from "./rule.js";

export const networkingDefaults: DefaultRules = {
  "NetworkPolicy spec.policyTypes": (policy) => {
    const spec = objectIn(policy, "spec");
    if (spec === undefined || itemsIn(spec, "policyTypes").length > 0) return;
    const hasEgress = itemsIn(spec, "egress").length > 0;
    spec.policyTypes = hasEgress ? ["Ingress", "Egress"] : ["Ingress"];
  },
  "IngressClass spec.parameters.scope": (ingressClass, { fact }) => {
    const parameters = objectIn(objectIn(ingressClass, "spec"), "parameters");
    if (parameters !== undefined) parameters.scope ??= fact.value ?? null;
  },
};
