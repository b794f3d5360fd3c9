/**
 * CompiledRules: the rules of a role, indexed for lookup by request instead of comparison with every
 * rule. Equivalent to `ruleAllows` over all rules, as a property test checks; rules for other resources
 * cost one map lookup.
 */
import { EVERYTHING, type PolicyRule, type RuleRequest, withoutStars } from "./policy-rule.js";

/** The size from which a set is faster than a scan. */
const SET_SIZE_MIN = 8;

/** undefined = every value. */
type Values = readonly string[] | ReadonlySet<string> | undefined;

interface ResourceRule {
  readonly verbs: Values;
  readonly groups: Values;
  /** undefined = every name, including none. */
  readonly names: Values;
}

interface PathRule {
  readonly verbs: Values;
  readonly exact: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

export class CompiledRules {
  /** By "pods", "pods/log" and "*" + "/scale". */
  readonly #byResource = new Map<string, ResourceRule[]>();
  readonly #forAll: ResourceRule[] = [];
  /** Whether any rule names a subresource of every resource. */
  readonly #hasSubresourcesOfAll: boolean;
  readonly #paths: PathRule[] = [];

  constructor(rules: readonly PolicyRule[]) {
    let hasSubresourcesOfAll = false;
    for (const rule of rules) {
      const verbs = toValues(rule.verbs);
      const { resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
      if (nonResourceURLs.length > 0) this.#paths.push(toPathRule(verbs, nonResourceURLs));
      if (resources.length === 0) continue;
      const names = resourceNames.length === 0 ? undefined : toMembers(resourceNames);
      const compiled = { verbs, groups: toValues(rule.apiGroups ?? []), names };
      if (resources.includes(EVERYTHING)) {
        this.#forAll.push(compiled);
        continue;
      }
      for (const resource of new Set(resources)) {
        if (resource.startsWith("*/")) hasSubresourcesOfAll = true;
        const known = this.#byResource.get(resource);
        if (known === undefined) this.#byResource.set(resource, [compiled]);
        else known.push(compiled);
      }
    }
    this.#hasSubresourcesOfAll = hasSubresourcesOfAll;
  }

  /** How many rules an answer has to look at, at most. */
  lookedAt({ isResourceRequest, resource, subresource }: RuleRequest): number {
    if (!isResourceRequest) return this.#paths.length;
    const key = subresource === "" ? resource : `${resource}/${subresource}`;
    const general = subresource === "" ? undefined : this.#byResource.get(`*/${subresource}`);
    const own = this.#byResource.get(key);
    return this.#forAll.length + (own?.length ?? 0) + (general?.length ?? 0);
  }

  allow(request: RuleRequest): boolean {
    if (!request.isResourceRequest) {
      return this.#paths.some((rule) => pathAllows(rule, request));
    }
    const { resource, subresource } = request;
    if (this.#forAll.length > 0 && anyAllows(this.#forAll, request)) return true;
    if (this.#byResource.size === 0) return false;
    const key = subresource === "" ? resource : `${resource}/${subresource}`;
    const rules = this.#byResource.get(key);
    if (rules !== undefined && anyAllows(rules, request)) return true;
    if (subresource === "" || !this.#hasSubresourcesOfAll) return false;
    const general = this.#byResource.get(`*/${subresource}`);
    return general !== undefined && anyAllows(general, request);
  }
}

function anyAllows(rules: readonly ResourceRule[], request: RuleRequest): boolean {
  for (const { verbs, groups, names } of rules) {
    if (
      contains(verbs, request.verb) &&
      contains(groups, request.group) &&
      contains(names, request.name)
    ) {
      return true;
    }
  }
  return false;
}

function pathAllows({ verbs, exact, prefixes }: PathRule, { verb, path }: RuleRequest): boolean {
  if (!contains(verbs, verb)) return false;
  return exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}

function toPathRule(verbs: Values, urls: readonly string[]): PathRule {
  const prefixes = urls.filter((url) => url.endsWith(EVERYTHING)).map(withoutStars);
  return { verbs, exact: new Set(urls), prefixes };
}

function toValues(values: readonly string[]): Values {
  return values.includes(EVERYTHING) ? undefined : toMembers(values);
}

function toMembers(values: readonly string[]): readonly string[] | ReadonlySet<string> {
  return values.length < SET_SIZE_MIN ? values : new Set(values);
}

function contains(values: Values, value: string): boolean {
  if (values === undefined) return true;
  return values instanceof Set ? values.has(value) : (values as readonly string[]).includes(value);
}
