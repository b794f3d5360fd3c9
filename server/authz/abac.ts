/**
 * AbacAuthorizer: a list of policies from a file, one JSON object per line (S2-AZ-05). A request that
 * matches one of them is allowed. The wiring reads the file once, at the start.
 *
 *   {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy",
 *    "spec": {"user": "bob", "namespace": "projects", "resource": "pods", "readonly": true}}
 *   {"user": "alice"}                                     without a version: older, wider rules
 *
 * Empty lines and lines that begin with # are skipped.
 */
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { AUTHENTICATED_GROUP, type UserInfo } from "../request/user-info.js";
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  AuthorizedRequest,
  Authorizer,
} from "./authorizer.js";
import type { PathRules, ResourceRules, RulesSource, SubjectRules } from "./subject-rules.js";

/** "" matches nothing, or anything if the request has no such part; "*" matches everything. */
interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly isReadOnly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

/** One line that tells where the file is wrong. */
export class AbacPolicyError extends Error {
  override readonly name = "AbacPolicyError";

  constructor(path: string, line: number, text: string, why: string) {
    super(`error reading policy file ${path}, line ${line}: ${text}: ${why}`);
  }
}

const ALLOW: AuthorizationResult = Object.freeze({ decision: "allow", reason: "" });
const NO_MATCH: AuthorizationResult = Object.freeze({
  decision: "no-opinion",
  reason: "No policy matched.",
});
const READ_VERBS: readonly string[] = ["get", "list", "watch"];

export class AbacAuthorizer implements Authorizer, RulesSource {
  readonly name = "ABAC";
  readonly #policies: readonly AbacPolicy[];

  /**
   * @param path used in errors only
   * @throws {AbacPolicyError}
   */
  constructor(naming: Naming, path: string, text: string) {
    this.#policies = parsePolicies(naming, path, text);
  }

  authorize({ user, info }: AuthorizationAttributes): AuthorizationResult {
    for (const policy of this.#policies) {
      if (!matchesSubject(policy, user)) continue;
      if (policy.isReadOnly && !READ_VERBS.includes(info.verb)) continue;
      if (info.isResourceRequest ? matchesResource(policy, info) : matchesPath(policy, info.path)) {
        return ALLOW;
      }
    }
    return NO_MATCH;
  }

  rulesFor(user: UserInfo, namespace: string): SubjectRules {
    const resourceRules: ResourceRules[] = [];
    const nonResourceRules: PathRules[] = [];
    for (const policy of this.#policies) {
      if (!matchesSubject(policy, user) || !matches(policy.namespace, namespace)) continue;
      const verbs = policy.isReadOnly ? READ_VERBS : ["*"];
      const { apiGroup, resource, nonResourcePath } = policy;
      if (resource !== "") {
        resourceRules.push({ verbs, apiGroups: [apiGroup], resources: [resource] });
      }
      if (nonResourcePath !== "") {
        nonResourceRules.push({ verbs, nonResourceURLs: [nonResourcePath] });
      }
    }
    return { resourceRules, nonResourceRules, incomplete: false };
  }
}

function matches(pattern: string, value: string): boolean {
  return pattern === "*" || pattern === value;
}

/** Must match both where both are set; a policy without a subject matches nobody. */
function matchesSubject({ user, group }: AbacPolicy, { name, groups }: UserInfo): boolean {
  if (user === "" && group === "") return false;
  if (user !== "" && !matches(user, name)) return false;
  return group === "" || group === "*" || groups.includes(group);
}

function matchesResource(
  policy: AbacPolicy,
  { namespace, resource, group }: AuthorizedRequest,
): boolean {
  return (
    matches(policy.namespace, namespace) &&
    matches(policy.resource, resource) &&
    matches(policy.apiGroup, group)
  );
}

function matchesPath({ nonResourcePath }: AbacPolicy, path: string): boolean {
  if (matches(nonResourcePath, path)) return true;
  return nonResourcePath.endsWith("*") && path.startsWith(nonResourcePath.replace(/\*+$/, ""));
}

function parsePolicies(naming: Naming, path: string, text: string): AbacPolicy[] {
  const policies: AbacPolicy[] = [];
  text.split("\n").forEach((line, index) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return;
    const refuse = (why: string) => new AbacPolicyError(path, index + 1, trimmed, why);
    policies.push(parsePolicy(naming, trimmed, refuse));
  });
  return policies;
}

type Refuse = (why: string) => AbacPolicyError;

function parsePolicy(naming: Naming, text: string, refuse: Refuse): AbacPolicy {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  if (!isJsonObject(value)) throw refuse("it is no JSON object");
  const { apiVersion, kind } = value;
  if (apiVersion === undefined && kind === undefined) return parseUnversioned(value, refuse);
  const known = `abac.authorization.${naming.labelDomain}/v1beta1`;
  if (apiVersion !== known || kind !== "Policy") {
    throw refuse(`it is neither of kind Policy in version ${known} nor without kind and version`);
  }
  const { spec = {} } = value;
  if (!isJsonObject(spec)) throw refuse("spec must be an object");
  const read = (field: string) => textOf(spec, field, refuse);
  const user = read("user");
  const group = read("group");
  return {
    user,
    // "*" means all authenticated users; unauthenticated ones need a policy for their group.
    group: user === "*" || group === "*" ? AUTHENTICATED_GROUP : group,
    isReadOnly: flagOf(spec, "readonly", refuse),
    apiGroup: read("apiGroup"),
    resource: read("resource"),
    namespace: read("namespace"),
    nonResourcePath: read("nonResourcePath"),
  };
}

/** In the oldest form of policies a missing field means everything. */
function parseUnversioned(policy: JsonObject, refuse: Refuse): AbacPolicy {
  const user = textOf(policy, "user", refuse);
  const group = textOf(policy, "group", refuse);
  const namespace = textOf(policy, "namespace", refuse);
  const resource = textOf(policy, "resource", refuse);
  const isForAll = (user === "" && group === "") || user === "*" || group === "*";
  return {
    user,
    group: isForAll ? AUTHENTICATED_GROUP : group,
    isReadOnly: flagOf(policy, "readonly", refuse),
    apiGroup: "*",
    resource: resource || "*",
    namespace: namespace || "*",
    nonResourcePath: namespace === "" && resource === "" ? "*" : "",
  };
}

function textOf(object: JsonObject, field: string, refuse: Refuse): string {
  const value = object[field] ?? "";
  if (typeof value !== "string") throw refuse(`${field} must be a string`);
  return value;
}

function flagOf(object: JsonObject, field: string, refuse: Refuse): boolean {
  const value = object[field] ?? false;
  if (typeof value !== "boolean") throw refuse(`${field} must be true or false`);
  return value;
}
