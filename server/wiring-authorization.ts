/**
 * Wiring of authorization: who is asked whether a request is allowed, from the flags, and what keeps
 * people from handing out more than they have.
 */
import { readFile } from "node:fs/promises";
import type { RegistryView } from "../storage/cache/registry-view.js";
import type { AdmissionPlugin } from "./admission/admission.js";
import { AbacAuthorizer } from "./authz/abac.js";
import { alwaysAllow } from "./authz/always-allow.js";
import { alwaysDeny } from "./authz/always-deny.js";
import { type Authorizer, UnionAuthorizer } from "./authz/authorizer.js";
import { Impersonation } from "./authz/impersonation.js";
import { NodeAuthorizer } from "./authz/node/node-authorizer.js";
import { PrivilegedGroupsAuthorizer } from "./authz/privileged-groups.js";
import { createGrantGuards } from "./authz/rbac/grant-guard.js";
import { RbacAuthorizer } from "./authz/rbac/rbac-authorizer.js";
import { RbacIndex } from "./authz/rbac/rbac-index.js";
import { combineRules, type RulesSource } from "./authz/subject-rules.js";
import type { Config } from "./config/config.js";
import { createGrantGuardPlugin } from "./registry/rbac/grant-guard-plugin.js";
import { MASTERS_GROUP } from "./request/user-info.js";

export interface Authorization {
  readonly authorizer: Authorizer;
  readonly rules: ReturnType<typeof combineRules>;
  readonly impersonation: Impersonation;
  /** Refuses roles and bindings that give away more than their author has; none without RBAC. */
  readonly guards: readonly AdmissionPlugin[];
}

type Member = Authorizer & RulesSource;

/** @throws {RangeError} with one line: an unknown mode; {Error}: a file that cannot be used */
export async function createAuthorization(
  config: Config,
  view: RegistryView,
): Promise<Authorization> {
  const { naming } = config;
  const index = new RbacIndex(view, naming);
  const rbac = new RbacAuthorizer(index);
  const members: Member[] = [];
  for (const mode of config.authorizationModes) {
    members.push(await memberOf(mode, { config, view, rbac }));
  }
  const authorizer = new UnionAuthorizer([
    new PrivilegedGroupsAuthorizer([MASTERS_GROUP]),
    ...members,
  ]);
  const guards = members.includes(rbac)
    ? [createGrantGuardPlugin(createGrantGuards({ index, rbac, authorizer }))]
    : [];
  return {
    authorizer,
    rules: combineRules(members),
    impersonation: new Impersonation({ authorizer, naming, isConstrained: false }),
    guards,
  };
}

interface MemberParts {
  readonly config: Config;
  readonly view: RegistryView;
  readonly rbac: RbacAuthorizer;
}

async function memberOf(mode: string, { config, view, rbac }: MemberParts): Promise<Member> {
  switch (mode) {
    case "RBAC":
      return rbac;
    case "Node":
      return new NodeAuthorizer(view, config.naming);
    case "ABAC": {
      const path = config.authorizationPolicyFile;
      return new AbacAuthorizer(config.naming, path, await readFile(path, "utf8"));
    }
    case "AlwaysAllow":
      return alwaysAllow;
    case "AlwaysDeny":
      return alwaysDeny;
    default:
      throw new RangeError(`--authorization-mode: ${JSON.stringify(mode)} is not known`);
  }
}
