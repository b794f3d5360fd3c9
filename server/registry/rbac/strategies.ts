/** Strategies of roles and bindings. */
import { checkPathSegmentName } from "../../api/validation-names.js";
import type { ResourceStrategy, StrategyTable } from "../../kinds/strategy.js";
import {
  validatesClusterRole,
  validatesClusterRoleBinding,
  validatesRole,
  validatesRoleBinding,
} from "./validate-rbac.js";

/** Users choose the names: colons, capitals and all. */
const rbac: ResourceStrategy = {
  allowCreateOnUpdate: true,
  validateName: checkPathSegmentName,
  judges: "grants",
  judgedBy: "grants",
};

export const rbacStrategies: StrategyTable = {
  "rbac.authorization/clusterroles": { ...rbac, ...validatesClusterRole },
  "rbac.authorization/roles": { ...rbac, ...validatesRole },
  "rbac.authorization/clusterrolebindings": { ...rbac, ...validatesClusterRoleBinding },
  "rbac.authorization/rolebindings": { ...rbac, ...validatesRoleBinding },
};
