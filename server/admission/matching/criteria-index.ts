/**
 * CriteriaIndex: finds which of many rules are about a write, without looking at the others.
 *
 * What a request asks for (operation, resource in its version, subresource) decides first: for each
 * sort of request a plan is made once, with the rules that name it, and the version in which each one
 * wants the objects (`matchPolicy: Equivalent`). In a plan rules lie by the labels they need: those
 * that need `key=value` are only looked at for objects that have it. So 1,000 rules about other things
 * cost one look into a map.
 *
 *   resource ─► operation, subresource ─► plan ─► labels of the object ─► candidates ─► subject
 *
 * An index is a value: other rules, another index. Plans are kept by the identity of the resource, so
 * that they end with it.
 */
import {
  isEmptySelector,
  type LabelSelector,
  selectorMatches,
} from "../../api/validation-selectors.js";
import type { Maybe } from "../../api/validation-values.js";
import type { Catalog } from "../../kinds/catalog.js";
import { isStored, mainOf, type ServedResource } from "../../kinds/served-resource.js";
import type { AdmissionOperation } from "../admission.js";
import { type ResourceRule, type RuleTarget, ruleMatches } from "./resource-rules.js";
import type { WriteSubject } from "./write-subject.js";

export interface MatchCriteria {
  /** None = every request, for `matchesAll`; else no request. */
  readonly rules: readonly ResourceRule[];
  readonly matchesAll?: boolean;
  readonly excluded?: readonly ResourceRule[];
  readonly matchPolicy?: Maybe<string>;
  readonly namespaceSelector?: Maybe<LabelSelector>;
  readonly objectSelector?: Maybe<LabelSelector>;
}

export interface Entry<T> {
  readonly criteria: MatchCriteria;
  readonly value: T;
}

/** A rule that is about a sort of request. */
export interface Candidate<T> {
  readonly value: T;
  readonly criteria: MatchCriteria;
  /** Position among all rules, which is the order they are asked in. */
  readonly position: number;
  /** In order; the first whose names fit decides in which version the rule sees the objects. */
  readonly ways: readonly Way[];
  /** Objects of these names are left alone. */
  readonly excludedNames: ReadonlySet<string>;
}

interface Way {
  readonly names: ReadonlySet<string> | undefined;
  readonly resource: ServedResource;
}

/** Why a rule is not about a write; for explanations. */
export type Mismatch = "rules" | "names" | "namespaceSelector" | "objectSelector";

export type Match = { readonly resource: ServedResource } | { readonly mismatch: Mismatch };

export class CriteriaIndex<T> {
  readonly entries: readonly Entry<T>[];
  readonly #catalog: () => Catalog;
  readonly #plans = new WeakMap<ServedResource, Map<string, Plan<T>>>();

  constructor(entries: readonly Entry<T>[], catalog: () => Catalog) {
    this.entries = entries;
    this.#catalog = catalog;
  }

  /** Whether there are rules about such requests at all. */
  hasAny(operation: AdmissionOperation, served: ServedResource, subresource: string): boolean {
    if (this.entries.length === 0) return false;
    return this.#plan(operation, served, subresource).all.length > 0;
  }

  /** Those that may be about the write, in order. Their selectors and names are still to be asked. */
  candidates({
    attributes,
    served,
  }: Pick<WriteSubject, "attributes" | "served">): readonly Candidate<T>[] {
    const { operation, subresource, object, oldObject } = attributes;
    const plan = this.#plan(operation, served, subresource);
    if (plan.byLabel.size === 0) return plan.open;
    const found = new Set<Candidate<T>>(plan.open);
    const before = found.size;
    collect(plan.byLabel, object?.metadata.labels, found);
    collect(plan.byLabel, oldObject?.metadata.labels, found);
    if (found.size === before) return plan.open;
    return [...found].sort((one, other) => one.position - other.position);
  }

  #plan(operation: AdmissionOperation, served: ServedResource, subresource: string): Plan<T> {
    let plans = this.#plans.get(served);
    if (plans === undefined) {
      plans = new Map();
      this.#plans.set(served, plans);
    }
    const key = `${operation}/${subresource}`;
    let plan = plans.get(key);
    if (plan === undefined) {
      const versions = versionsOf(this.#catalog(), served, subresource);
      plan = makePlan(this.entries, operation, versions, subresource);
      plans.set(key, plan);
    }
    return plan;
  }
}

/** @throws {StatusError} 404, when there is no telling for want of the namespace */
export function match<T>(
  { ways, criteria, excludedNames }: Candidate<T>,
  subject: WriteSubject,
): Match {
  const { namespaceSelector, objectSelector } = criteria;
  const name = subject.attributes.name || subject.name;
  if (excludedNames.has(name)) return { mismatch: "names" };
  const way = ways.find(({ names }) => names === undefined || names.has(name));
  if (way === undefined) return { mismatch: "names" };
  if (isSelective(objectSelector)) {
    const { object, oldObject } = subject.attributes;
    const takes = [object, oldObject].some(
      (one) => one !== undefined && selectorMatches(objectSelector, one.metadata?.labels),
    );
    if (!takes) return { mismatch: "objectSelector" };
  }
  if (isSelective(namespaceSelector)) {
    const labels = subject.namespaceLabels();
    if (labels !== undefined && !selectorMatches(namespaceSelector, labels)) {
      return { mismatch: "namespaceSelector" };
    }
  }
  return { resource: way.resource };
}

interface Plan<T> {
  readonly all: readonly Candidate<T>[];
  /** Those that no label is needed for. */
  readonly open: readonly Candidate<T>[];
  /** Those that need one, by "key\0value". */
  readonly byLabel: ReadonlyMap<string, readonly Candidate<T>[]>;
}

function makePlan<T>(
  entries: readonly Entry<T>[],
  operation: AdmissionOperation,
  versions: readonly ServedResource[],
  subresource: string,
): Plan<T> {
  const all: Candidate<T>[] = [];
  const open: Candidate<T>[] = [];
  const byLabel = new Map<string, Candidate<T>[]>();
  const targets = versions.map((resource) => ({
    resource,
    target: targetOf(operation, resource, subresource),
  }));
  entries.forEach(({ criteria, value }, position) => {
    const isExact = criteria.matchPolicy === "Exact";
    const reach = isExact ? targets.slice(0, 1) : targets;
    const excludes = waysOf(criteria.excluded ?? [], reach);
    if (excludes.some(({ names }) => names === undefined)) return;
    const ways =
      criteria.rules.length === 0 && criteria.matchesAll === true
        ? versions.slice(0, 1).map((resource) => ({ names: undefined, resource }))
        : waysOf(criteria.rules, reach);
    if (ways.length === 0) return;
    const excludedNames = new Set(excludes.flatMap(({ names }) => [...(names ?? [])]));
    const candidate = { value, criteria, position, ways, excludedNames };
    all.push(candidate);
    const label = neededLabel(criteria.objectSelector);
    if (label === undefined) {
      open.push(candidate);
      return;
    }
    const sharing = byLabel.get(label);
    if (sharing === undefined) byLabel.set(label, [candidate]);
    else sharing.push(candidate);
  });
  return { all, open, byLabel };
}

interface Target {
  readonly resource: ServedResource;
  readonly target: RuleTarget;
}

/** The version that was asked for comes before the others, and there rules in their order. */
function waysOf(rules: readonly ResourceRule[], [own, ...others]: readonly Target[]): Way[] {
  const ways: Way[] = [];
  const add = (rule: ResourceRule, { resource, target }: Target): void => {
    if (!ruleMatches(rule, target)) return;
    const names = rule.resourceNames ?? [];
    ways.push({ names: names.length === 0 ? undefined : new Set(names), resource });
  };
  for (const rule of rules) if (own !== undefined) add(rule, own);
  for (const rule of rules) for (const other of others) add(rule, other);
  return ways;
}

function targetOf(
  operation: AdmissionOperation,
  { group, version, resource, isNamespaced }: ServedResource,
  subresource: string,
): RuleTarget {
  return { operation, group, version, resource, subresource, isNamespaced };
}

/** The resource itself, and every other version that shows the same objects. */
function versionsOf(
  catalog: Catalog,
  served: ServedResource,
  subresource: string,
): readonly ServedResource[] {
  if (!isStored(served)) return [served];
  const main = mainOf(served);
  const others = catalog.versionsOf(main.partition).flatMap((other): ServedResource[] => {
    if (other.group === served.group && other.version === served.version) return [];
    if (subresource === "") return [other];
    const found = other.subresources.get(subresource)?.resource;
    return found === undefined ? [] : [found];
  });
  return [served, ...others];
}

function isSelective(selector: Maybe<LabelSelector>): selector is LabelSelector {
  return selector !== undefined && selector !== null && !isEmptySelector(selector);
}

/** A label that every object has that the selector takes. */
function neededLabel(selector: Maybe<LabelSelector>): string | undefined {
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) return `${key}\0${value}`;
  for (const { key, operator, values } of selector?.matchExpressions ?? []) {
    if (operator === "In" && values?.length === 1) return `${key}\0${values[0]}`;
  }
  return undefined;
}

function collect<T>(
  byLabel: ReadonlyMap<string, readonly Candidate<T>[]>,
  labels: Maybe<Readonly<Record<string, string>>>,
  into: Set<Candidate<T>>,
): void {
  for (const key in labels) {
    for (const candidate of byLabel.get(`${key}\0${labels[key]}`) ?? []) into.add(candidate);
  }
}
