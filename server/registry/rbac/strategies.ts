/** Strategies of roles and bindings. */
import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
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
  judgedBy: ["grants"],
};

/** Decisions gather the rules of an aggregated role themselves; those in it are for people to see. */
const clusterRole: ResourceStrategy = {
  ...rbac,
  judgesAlike: (next, current) =>
    next !== undefined && current !== undefined && deepEqual(grantedBy(next), grantedBy(current)),
};

function grantedBy({ metadata, aggregationRule = null, rules }: ApiObject): unknown {
  const { labels = {} } = metadata;
  return { labels, aggregationRule, rules: aggregationRule === null ? rules : undefined };
}

export const rbacStrategies: StrategyTable = {
  "rbac.authorization/clusterroles": { ...clusterRole, ...validatesClusterRole },
  "rbac.authorization/roles": { ...rbac, ...validatesRole },
  "rbac.authorization/clusterrolebindings": { ...rbac, ...validatesClusterRoleBinding },
  "rbac.authorization/rolebindings": { ...rbac, ...validatesRoleBinding },
};
