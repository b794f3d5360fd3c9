/**
 * Classifier: finds a request's flow schema, and its flow within it. Schemas are tried by
 * precedence, then by name; the first with a matching rule decides.
 *
 * Subjects are matched once per user object: a connection or a cached token keeps the same object
 * for all its requests, so a request is only checked against the few rules of its user.
 */
import type { RequestInfo } from "../request/request-info.js";
import { parseServiceAccountUser } from "../request/service-account-name.js";
import type { UserInfo } from "../request/user-info.js";
import type { PathRule, ResourceRule, RuleSetting, SchemaSetting } from "./settings.js";

const ANY = "*";

/** A schema with its rules that match a user. */
interface Candidate {
  readonly schema: SchemaSetting;
  readonly rules: readonly RuleSetting[];
  /** Whether it takes all of the user's requests for resources, as those for administrators and for everybody do. */
  readonly takesResources: boolean;
}

export class Classifier {
  readonly #schemas: readonly SchemaSetting[];
  readonly #candidates = new WeakMap<UserInfo, readonly Candidate[]>();

  constructor(schemas: Iterable<SchemaSetting>) {
    this.#schemas = [...schemas].sort(
      (a, b) => a.precedence - b.precedence || (a.name < b.name ? -1 : 1),
    );
  }

  /** The schemas in the order of evaluation. */
  get schemas(): readonly SchemaSetting[] {
    return this.#schemas;
  }

  /** Undefined when no schema matches. */
  classify(user: UserInfo, info: RequestInfo): SchemaSetting | undefined {
    let candidates = this.#candidates.get(user);
    if (candidates === undefined) {
      candidates = this.#candidatesOf(user);
      this.#candidates.set(user, candidates);
    }
    for (const { schema, rules, takesResources } of candidates) {
      if (takesResources && info.isResourceRequest) return schema;
      for (const rule of rules) if (concerns(rule, info)) return schema;
    }
    return undefined;
  }

  #candidatesOf(user: UserInfo): readonly Candidate[] {
    const account = parseServiceAccountUser(user.name);
    const means = ({ users, groups, serviceAccounts }: RuleSetting) =>
      users.has(user.name) ||
      users.has(ANY) ||
      (groups.has(ANY) && user.groups.length > 0) ||
      user.groups.some((group) => groups.has(group)) ||
      (account !== undefined &&
        (serviceAccounts.has(`${account.namespace}:${account.name}`) ||
          serviceAccounts.has(`${account.namespace}:${ANY}`)));
    return this.#schemas
      .map((schema) => {
        const rules = schema.rules.filter(means);
        const takesResources = rules.some((rule) => rule.resourceRules.some(meansAnyResource));
        return { schema, rules, takesResources };
      })
      .filter(({ rules }) => rules.length > 0);
  }
}

/** The flow distinguisher of a request in its schema: "" = all requests share one flow. */
export function flowOf(schema: SchemaSetting, user: UserInfo, info: RequestInfo): string {
  if (schema.distinguisher === "ByUser") return user.name;
  if (schema.distinguisher === "ByNamespace") return info.namespace;
  return "";
}

function concerns({ resourceRules, pathRules }: RuleSetting, info: RequestInfo): boolean {
  return info.isResourceRequest
    ? resourceRules.some((rule) => meansResource(rule, info))
    : pathRules.some((rule) => meansPath(rule, info));
}

function meansResource(rule: ResourceRule, info: RequestInfo): boolean {
  const { verb, group, resource, subresource, namespace } = info;
  if (!hasOrAny(rule.verbs, verb) || !hasOrAny(rule.groups, group)) return false;
  const name = subresource === "" ? resource : `${resource}/${subresource}`;
  if (!hasOrAny(rule.resources, name)) return false;
  return namespace === "" ? rule.isClusterScope : hasOrAny(rule.namespaces, namespace);
}

function meansAnyResource(rule: ResourceRule): boolean {
  const { verbs, groups, resources, namespaces, isClusterScope } = rule;
  return isClusterScope && [verbs, groups, resources, namespaces].every((set) => set.has(ANY));
}

function meansPath({ verbs, paths }: PathRule, { verb, path }: RequestInfo): boolean {
  if (!hasOrAny(verbs, verb)) return false;
  return paths.some((one) => {
    if (one === ANY || one === path) return true;
    // A path covers what is below it, with or without a star at its end.
    const prefix = one.endsWith("*") ? one.slice(0, -1) : one;
    return path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);
  });
}

function hasOrAny(set: ReadonlySet<string>, value: string): boolean {
  return set.has(ANY) || set.has(value);
}
