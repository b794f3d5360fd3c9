/** Defaults of the rbac group that depend on other fields. */
import { type DefaultRules, fill } from "./rule.js";

export const rbacDefaults: DefaultRules = {
  "Subject apiGroup": (subject, { fact }) => {
    if (subject.kind === "User" || subject.kind === "Group") {
      fill(subject, "apiGroup", fact.value ?? null);
    }
  },
};
