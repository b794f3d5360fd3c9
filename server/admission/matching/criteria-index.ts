/**
 * CriteriaIndex: finds the rules that match a write without testing all of them.
 *
 * The request's operation, resource version and subresource select a plan, built once, with the rules that
 * name them and the version in which each rule wants the objects (`matchPolicy: Equivalent`). A plan
 * indexes its rules by required label: rules that need `key=value` are tested only for objects that have
 * it. So 1,000 unrelated rules cost one map lookup.
 *
 *   resource ─► operation, subresource ─► plan ─► labels of the object ─► candidates ─► subject
 *
 * An index is immutable: changed rules get a new index. Plans are keyed by the resource's identity and are
 * dropped with it.
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
  /** Empty = every request with `matchesAll`, else none. */
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

/** A rule that matches one kind of request. */
export interface Candidate<T> {
  readonly value: T;
  readonly criteria: MatchCriteria;
  /** Position among all rules, which is their order of evaluation. */
  readonly position: number;
  /** In order; the first way whose names match decides the version of the objects that the rule sees. */
  readonly ways: readonly Way[];
  /** Names of objects that the rule skips. */
  readonly excludedNames: ReadonlySet<string>;
}

interface Way {
  readonly names: ReadonlySet<string> | undefined;
  readonly resource: ServedResource;
}

/** Why a rule does not match a write; for explanations. */
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

  /** Whether any rule matches such requests. */
  hasAny(operation: AdmissionOperation, served: ServedResource, subresource: string): boolean {
    if (this.entries.length === 0) return false;
    return this.#plan(operation, served, subresource).all.length > 0;
  }

  /** Rules that may match the write, in order. The caller still checks their selectors and names. */
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

/** @throws {StatusError} 404, when the namespace is needed and missing */
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
  /** Rules that require no label. */
  readonly open: readonly Candidate<T>[];
  /** Rules that require a label, by "key\0value". */
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

/** The requested version comes first; within a version the rules keep their order. */
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

/** The resource itself and every other version that serves the same objects. */
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

/** A label that every object matching the selector has. */
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
