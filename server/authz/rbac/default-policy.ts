/**
 * The default policy as objects, which every registry has after its first start (S2-RBAC-19..28). Pure;
 * the control loops' bootstrap-policy.ts reconciles them.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { DEFAULT_CLUSTER_ROLE_BINDINGS, DEFAULT_CLUSTER_ROLES } from "./default-cluster-roles.js";
import { CONTROLLER_ROLES, NAMESPACED_ROLES } from "./default-controller-roles.js";
import type { PolicyRule } from "./policy-rule.js";
import { rbacGroup } from "./rbac-index.js";
import {
  type RoleFact,
  type RuleFact,
  type SubjectFact,
  spell,
  toPolicyRule,
} from "./rule-notation.js";

export interface RoleObject extends ApiObject {
  rules?: readonly PolicyRule[] | null;
  aggregationRule?: { readonly clusterRoleSelectors?: readonly Selector[] | null } | null;
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
}

export interface BindingObject extends ApiObject {
  roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  subjects?: readonly SubjectObject[] | null;
}

export interface SubjectObject {
  readonly kind: string;
  readonly name: string;
  readonly apiGroup?: string;
  readonly namespace?: string;
}

export interface DefaultPolicy {
  readonly clusterRoles: readonly RoleObject[];
  readonly clusterRoleBindings: readonly BindingObject[];
  readonly roles: readonly RoleObject[];
  readonly roleBindings: readonly BindingObject[];
}

const CONTROLLER_PREFIX = "system:controller:";

export function defaultPolicy(naming: Naming): DefaultPolicy {
  const controllers = Object.entries(CONTROLLER_ROLES);
  const roleFacts: readonly RoleFact[] = [
    ...DEFAULT_CLUSTER_ROLES,
    ...controllers.map(([name, rules]) => ({ name: `${CONTROLLER_PREFIX}${name}`, rules })),
  ];
  const bindingFacts = [
    ...DEFAULT_CLUSTER_ROLE_BINDINGS,
    ...controllers.map(([name]) => ({
      name: `${CONTROLLER_PREFIX}${name}`,
      subjects: [{ kind: "ServiceAccount", name } as const],
    })),
  ];
  return {
    clusterRoles: roleFacts.map((fact) => clusterRole(fact, naming)),
    clusterRoleBindings: bindingFacts.map(({ name, subjects }) => ({
      ...common(naming, "ClusterRoleBinding", name),
      ...bound(naming, "ClusterRole", name, subjects),
    })),
    roles: NAMESPACED_ROLES.map(({ place, name, rules }) => ({
      ...common(naming, "Role", name, namespaceOf(naming, place)),
      rules: toRules(rules, naming),
    })),
    roleBindings: NAMESPACED_ROLES.map(({ place, name, binding }) => ({
      ...common(naming, "RoleBinding", binding.name, namespaceOf(naming, place)),
      ...bound(naming, "Role", name, binding.subjects),
    })),
  };
}

/** "false" = leave the object alone (S2-RBAC-21). */
export function autoUpdateAnnotation({ labelDomain }: Naming): string {
  return `rbac.authorization.${labelDomain}/autoupdate`;
}

function clusterRole(fact: RoleFact, naming: Naming): RoleObject {
  const { rules, aggregates, isPartOf } = fact;
  const role = common(naming, "ClusterRole", spell(fact.name, naming));
  if (isPartOf !== undefined) {
    role.metadata.labels = {
      ...role.metadata.labels,
      [aggregationLabel(naming, isPartOf)]: "true",
    };
  }
  if (aggregates === undefined) return { ...role, rules: toRules(rules, naming) };
  const matchLabels = { [aggregationLabel(naming, aggregates)]: "true" };
  return { ...role, aggregationRule: { clusterRoleSelectors: [{ matchLabels }] }, rules: [] };
}

function aggregationLabel(naming: Naming, aggregate: string): string {
  return `${rbacGroup(naming)}/aggregate-to-${aggregate}`;
}

function common(naming: Naming, kind: string, name: string, namespace?: string): ApiObject {
  return {
    kind,
    apiVersion: `${rbacGroup(naming)}/v1`,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: { [`${naming.labelDomain}/bootstrapping`]: "rbac-defaults" },
      annotations: { [autoUpdateAnnotation(naming)]: "true" },
    },
  };
}

function bound(naming: Naming, kind: string, name: string, subjects: readonly SubjectFact[]) {
  const apiGroup = rbacGroup(naming);
  return {
    roleRef: { apiGroup, kind, name },
    subjects: subjects.map((subject) =>
      subject.kind === "ServiceAccount"
        ? { ...subject, namespace: naming.systemNamespace }
        : { ...subject, apiGroup },
    ),
  };
}

function namespaceOf(naming: Naming, place: "system" | "public"): string {
  return place === "system" ? naming.systemNamespace : naming.publicNamespace;
}

function toRules(facts: readonly RuleFact[], naming: Naming): PolicyRule[] {
  return facts.map((fact) => toPolicyRule(fact, naming));
}
