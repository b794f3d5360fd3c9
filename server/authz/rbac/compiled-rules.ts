/**
 * CompiledRules: the rules of a role, indexed for lookup by request instead of comparison with every
 * rule. Equivalent to `ruleAllows` over all rules, as a property test checks; rules for other resources
 * cost one map lookup.
 */
import { finishNow, STRETCH, type Steps } from "../../../storage/base/steps.js";
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
  readonly #byResource = new Map<string, readonly ResourceRule[]>();
  readonly #forAll: ResourceRule[] = [];
  /** Whether any rule names a subresource of every resource. */
  #hasSubresourcesOfAll = false;
  readonly #paths: PathRule[] = [];

  private constructor() {}

  static of(rules: readonly PolicyRule[]): CompiledRules {
    return finishNow(CompiledRules.inSteps(rules));
  }

  static *inSteps(rules: readonly PolicyRule[]): Steps<CompiledRules> {
    const compiled = new CompiledRules();
    let last: LastRule | undefined;
    let seen = 0;
    for (const rule of rules) {
      if (++seen % STRETCH === 0) yield;
      last = compiled.#add(rule, last);
    }
    return compiled;
  }

  /** @param last the resource rule before it: what says the same of other resources is one object */
  #add(rule: PolicyRule, last: LastRule | undefined): LastRule | undefined {
    const { resources = [], nonResourceURLs = [] } = rule;
    if (nonResourceURLs.length > 0) {
      this.#paths.push(toPathRule(toValues(rule.verbs), nonResourceURLs));
    }
    if (resources.length === 0) return last;
    const alone = last !== undefined && saysTheSame(last.rule, rule) ? last.alone : [compile(rule)];
    if (resources.includes(EVERYTHING)) {
      this.#forAll.push(...alone);
    } else {
      for (const resource of resources.length === 1 ? resources : new Set(resources)) {
        if (resource.startsWith("*/")) this.#hasSubresourcesOfAll = true;
        const known = this.#byResource.get(resource);
        if (known === undefined) this.#byResource.set(resource, alone);
        // One that others share is never added to.
        else if (known.length === 1) this.#byResource.set(resource, [...known, ...alone]);
        else (known as ResourceRule[]).push(...alone);
      }
    }
    return { rule, alone };
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

interface LastRule {
  readonly rule: PolicyRule;
  /** A list of its own, which all its resources share. */
  readonly alone: readonly ResourceRule[];
}

function compile({ verbs, apiGroups = [], resourceNames = [] }: PolicyRule): ResourceRule {
  const names = resourceNames.length === 0 ? undefined : toMembers(resourceNames);
  return { verbs: toValues(verbs), groups: toValues(apiGroups), names };
}

/** Equal lists of one role are one (toPolicyRules). */
function saysTheSame(a: PolicyRule, b: PolicyRule): boolean {
  return a.verbs === b.verbs && a.apiGroups === b.apiGroups && a.resourceNames === b.resourceNames;
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
