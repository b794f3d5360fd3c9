/**
 * AlwaysDeny: allows nobody (S2-AZ-04). Like kube-apiserver's it has no opinion instead of denying, so
 * members of privileged groups still get in (S2-AZ-17), and so do users whom a later authorizer allows.
 */
import type { AuthorizationResult, Authorizer } from "./authorizer.js";
import { NO_RULES, type RulesSource } from "./subject-rules.js";

const NO_OPINION: AuthorizationResult = Object.freeze({
  decision: "no-opinion",
  reason: "Everything is forbidden.",
});

export const alwaysDeny: Authorizer & RulesSource = Object.freeze({
  name: "AlwaysDeny",
  authorize: () => NO_OPINION,
  rulesFor: () => NO_RULES,
});
