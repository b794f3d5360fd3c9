/**
 * RbacAuthorizer: allows a request if a rule of a role bound to the user does; otherwise it has no
 * opinion, because permissions are additive (S2-RBAC-06). From memory and synchronous, unless the user has more roles to read
 * than one turn of the event loop has room for. A denial's reason names bound roles that are missing.
 */

import { inShortTurns, ShortTurns } from "../../../storage/base/short-turns.js";
import type { UserInfo } from "../../request/user-info.js";
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  NO_OPINION,
} from "../authorizer.js";
import type { PathRules, ResourceRules, SubjectRules } from "../subject-rules.js";
import { decideWhenRead } from "../unread.js";
import type { PolicyRule } from "./policy-rule.js";
import { type BindingEntry, type Bindings, type RbacIndex, subjectIs } from "./rbac-index.js";
import type { RoleEntry } from "./role-index.js";

/** Rules of one user that are listed, or held against what the user grants: some 4 MB as JSON. The default roles have 1,000. */
const RULES_MAX = 20_000;
/** Errors that are told: a user may be bound to thousands of roles that are gone. */
const TOLD_MAX = 100;
const TOO_MANY_RULES = `more than ${RULES_MAX} rules apply to the user`;

export interface HeldRules {
  readonly rules: readonly PolicyRule[];
  readonly errors: readonly string[];
  /** Whether there are more of them. */
  readonly isCut: boolean;
}

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

  authorize(
    attributes: AuthorizationAttributes,
  ): AuthorizationResult | Promise<AuthorizationResult> {
    return decideWhenRead(this.name, () => this.#decide(attributes));
  }

  /** @throws {Unread} */
  #decide({ user, info }: AuthorizationAttributes): AuthorizationResult {
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

  /** The rules that apply to the user in the namespace, and errors that may hide further ones. Read in turns. */
  async policyRules(user: UserInfo, namespace: string): Promise<HeldRules> {
    const roles = new Set<RoleEntry>();
    this.#index.visit(user, namespace, (role) => {
      roles.add(role);
    });
    const rules: PolicyRule[] = [];
    const errors: string[] = [];
    const turns = new ShortTurns();
    for (const role of roles) {
      if (role.isBroken) errors.push(this.#describeBroken(role));
      for (const rule of await inShortTurns(this.#index.rules(role), turns)) {
        if (rules.length === RULES_MAX) return { rules, errors, isCut: true };
        rules.push(rule);
      }
      await turns.yieldIfLong();
    }
    return { rules, errors, isCut: false };
  }

  /** For reviews of a user's permissions (S2-SAR-04). */
  async rulesFor(user: UserInfo, namespace: string): Promise<SubjectRules> {
    const { rules, errors: broken, isCut } = await this.policyRules(user, namespace);
    const errors = isCut ? [...broken, TOO_MANY_RULES] : broken;
    const resourceRules: ResourceRules[] = [];
    const nonResourceRules: PathRules[] = [];
    for (const { verbs, apiGroups = [], resources = [], resourceNames, nonResourceURLs } of rules) {
      if (resources.length > 0) {
        resourceRules.push(
          resourceNames === undefined
            ? { verbs, apiGroups, resources }
            : { verbs, apiGroups, resources, resourceNames },
        );
      }
      if (nonResourceURLs !== undefined) nonResourceRules.push({ verbs, nonResourceURLs });
    }
    return {
      resourceRules,
      nonResourceRules,
      incomplete: isCut,
      ...(errors.length > 0 && { evaluationError: joinErrors(errors) }),
    };
  }

  #describeBroken({ kind, name, object }: RoleEntry): string {
    const what = `${kind.toLowerCase()}.${this.#index.group} ${JSON.stringify(name)}`;
    return object === undefined ? `${what} not found` : `${what} cannot be read`;
  }
}

/** One error as is, several in brackets. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  const more = distinct.splice(TOLD_MAX).length;
  if (more > 0) distinct.push(`and ${more} more`);
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
