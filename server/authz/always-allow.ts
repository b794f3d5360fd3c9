/** AlwaysAllow: everybody may do everything (S2-AZ-04). For tests and closed networks. */
import type { AuthorizationResult, Authorizer } from "./authorizer.js";
import type { RulesSource, SubjectRules } from "./subject-rules.js";

const ALLOW: AuthorizationResult = Object.freeze({ decision: "allow", reason: "" });

const EVERYTHING: SubjectRules = Object.freeze({
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
});

export const alwaysAllow: Authorizer & RulesSource = Object.freeze({
  name: "AlwaysAllow",
  authorize: () => ALLOW,
  rulesFor: () => EVERYTHING,
});
