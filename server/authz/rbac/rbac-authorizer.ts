/**
 * RbacAuthorizer: allows a request if a rule of a role bound to the user does; otherwise it has no
 * opinion, because permissions are additive (S2-RBAC-06). Synchronous, from memory. A denial's reason
 * names bound roles that are missing.
 */

import type { UserInfo } from "../../request/user-info.js";
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  NO_OPINION,
} from "../authorizer.js";
import type { SubjectRules } from "../subject-rules.js";
import type { PolicyRule } from "./policy-rule.js";
import { type BindingEntry, type Bindings, type RbacIndex, subjectIs } from "./rbac-index.js";
import type { RoleEntry } from "./role-index.js";

export class RbacAuthorizer implements Authorizer {
  readonly name = "RBAC";
  readonly #index: RbacIndex;

  /** The last reason per binding, since one user asks many times. Entries and users are immutable. */
  readonly #reasons = new WeakMap<
    BindingEntry,
    { readonly user: UserInfo; readonly reason: string }
  >();

  constructor(index: RbacIndex) {
    this.#index = index;
  }

  authorize({ user, info }: AuthorizationAttributes): AuthorizationResult {
    // A namespace's bindings grant its resources, never paths.
    const namespace = info.isResourceRequest ? info.namespace : "";
    const grant = this.#index.find(user, namespace, info);
    if (grant !== undefined) {
      return { decision: "allow", reason: this.#reasonOf(grant.bindings, user) };
    }
    let broken: Set<RoleEntry> | undefined;
    this.#index.visit(user, namespace, (role) => {
      if (!role.isBroken) return;
      broken ??= new Set();
      broken.add(role);
    });
    if (broken === undefined) return NO_OPINION;
    const reason = `RBAC: ${joinErrors([...broken].map((role) => this.#describeBroken(role)))}`;
    return { decision: "no-opinion", reason };
  }

  /** `RBAC: allowed by RoleBinding "web/shop" of Role "deployer" to User "jane"` */
  #reasonOf(bindings: Bindings, user: UserInfo): string {
    const entry = bindings[0] as BindingEntry;
    const last = this.#reasons.get(entry);
    if (last?.user === user) return last.reason;
    const reason = `RBAC: allowed by ${describeBinding(entry, user)}`;
    this.#reasons.set(entry, { user, reason });
    return reason;
  }

  /** All rules that apply to the user in the namespace, and errors that may hide further ones. */
  policyRules(
    user: UserInfo,
    namespace: string,
  ): { readonly rules: readonly PolicyRule[]; readonly errors: readonly string[] } {
    const roles = new Set<RoleEntry>();
    this.#index.visit(user, namespace, (role) => {
      roles.add(role);
    });
    const rules: PolicyRule[] = [];
    const errors: string[] = [];
    for (const role of roles) {
      if (role.isBroken) errors.push(this.#describeBroken(role));
      for (const rule of this.#index.rules(role)) rules.push(rule);
    }
    return { rules, errors };
  }

  /** For reviews of a user's permissions (S2-SAR-04). */
  rulesFor(user: UserInfo, namespace: string): Promise<SubjectRules> {
    const { rules, errors } = this.policyRules(user, namespace);
    return Promise.resolve({
      resourceRules: rules.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames }) =>
        resources.length === 0
          ? []
          : [{ verbs, apiGroups, resources, ...(resourceNames && { resourceNames }) }],
      ),
      nonResourceRules: rules.flatMap(({ verbs, nonResourceURLs = [] }) =>
        nonResourceURLs.length === 0 ? [] : [{ verbs, nonResourceURLs }],
      ),
      incomplete: false,
      ...(errors.length > 0 && { evaluationError: joinErrors(errors) }),
    });
  }

  #describeBroken({ kind, name, object }: RoleEntry): string {
    const what = `${kind.toLowerCase()}.${this.#index.group} ${JSON.stringify(name)}`;
    return object === undefined ? `${what} not found` : `${what} cannot be read`;
  }
}

/** One error as is, several in brackets. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] as string) : `[${distinct.join(", ")}]`;
}

function describeBinding({ namespace, name, role, subjects }: BindingEntry, user: UserInfo) {
  const what =
    namespace === ""
      ? `ClusterRoleBinding ${JSON.stringify(name)}`
      : `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`;
  const subject = subjects.find((candidate) => subjectIs(candidate, user, namespace));
  const of = `${role.kind} ${JSON.stringify(role.name)}`;
  if (subject === undefined) return `${what} of ${of}`;
  const { kind } = subject;
  const place = subject.namespace === "" ? namespace : subject.namespace;
  const who = kind === "ServiceAccount" ? `${subject.name}/${place}` : subject.name;
  return `${what} of ${of} to ${kind} ${JSON.stringify(who)}`;
}
