/**
 * PolicySet: the policies of one kind with their bindings, from the view, and the pairs that match a
 * write. A policy without a binding matches nothing.
 */
import { partitionId } from "../../../storage/objects/keys.js";
import type { ApiObject } from "../../api/meta.js";
import type { Catalog } from "../../kinds/catalog.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { AdmissionAttributes } from "../admission.js";
import { type Candidate, CriteriaIndex, type Entry, match } from "../matching/criteria-index.js";
import { isExempt, type RuleContext } from "../matching/rule-context.js";
import { StoredRules } from "../matching/stored-rules.js";
import type { WriteSubject } from "../matching/write-subject.js";
import { NO_MANIFESTS } from "../static/manifest-source.js";
import type { ParamUse } from "./params.js";
import { type Binding, type Policy, readBinding, readPolicy } from "./policy.js";

/** A policy with its bindings that may match a write. */
export interface BoundPolicy {
  readonly policy: Policy;
  /** The version in which the policy sees the objects. */
  readonly resource: ServedResource;
  readonly bindings: readonly Binding[];
}

/** A policy or binding whose match cannot be determined. */
export interface Unmatched {
  readonly policy: Policy;
  readonly binding: Binding | undefined;
  readonly error: Error;
}

interface Current {
  readonly policiesSeen: CriteriaIndex<Policy>;
  readonly bindingsSeen: CriteriaIndex<Binding>;
  /** Policies with a binding. */
  readonly policies: CriteriaIndex<Policy>;
  /** By policy and origin: bindings from files bind only policies from files, and API bindings only API policies. */
  readonly bindings: ReadonlyMap<string, CriteriaIndex<Binding>>;
}

export class PolicySet {
  readonly #context: RuleContext;
  readonly #policies: StoredRules<Policy>;
  readonly #bindings: StoredRules<Binding>;
  readonly #plugin: string;
  #current: Current | undefined;
  /** The index of rules from files alone. */
  #static: Current | undefined;

  constructor(context: RuleContext, kind: "validating" | "mutating", plugin: string) {
    const { view, naming, manifests = NO_MANIFESTS } = context;
    const catalog = () => context.catalog.current;
    const group = `admissionregistration.${naming.groupDomain}`;
    const rules = <T extends Policy | Binding>(
      resource: string,
      read: (object: ApiObject, isStatic: boolean) => T,
    ) =>
      new StoredRules<T>({
        partition: view.partition(partitionId(group, resource)),
        read: (object, isStatic) => {
          const value = read(object, isStatic);
          return [{ criteria: value.criteria, value }];
        },
        catalog,
        manifests,
        resource,
      });
    this.#context = context;
    this.#plugin = plugin;
    this.#policies = rules(`${kind}admissionpolicies`, readPolicy);
    this.#bindings = rules(`${kind}admissionpolicybindings`, readBinding);
  }

  /** Whether no policy can match the resource. */
  isEmptyFor(resource: Parameters<typeof isExempt>[1]): boolean {
    const isExemptHere = isExempt(this.#context.naming, resource);
    return this.#policies.count(isExemptHere) === 0 || this.#bindings.count(isExemptHere) === 0;
  }

  /** The parameters that the bindings name. */
  paramUses(): ParamUse[] {
    const { policies, bindings } = this.#index(false);
    return policies.entries.flatMap(({ value: policy }) => {
      const { paramKind: kind } = policy;
      if (kind === undefined) return [];
      const bound = bindings.get(placeOf(policy, policy.name))?.entries ?? [];
      return bound.flatMap(({ value: { paramRef: ref } }) =>
        ref === undefined ? [] : [{ kind, ref }],
      );
    });
  }

  subscribe(changed: () => void): void {
    this.#policies.subscribe(changed);
    this.#bindings.subscribe(changed);
  }

  /** Policies that may match the write, ordered by name. */
  candidates(
    attributes: AdmissionAttributes,
    served: ServedResource,
  ): readonly Candidate<Policy>[] {
    const { policies } = this.#indexFor(served);
    const { operation, subresource } = attributes;
    if (!policies.hasAny(operation, served, subresource)) return [];
    return policies.candidates({ attributes, served });
  }

  /** @returns undefined = no match */
  bind(candidate: Candidate<Policy>, subject: WriteSubject): BoundPolicy | Unmatched[] | undefined {
    const policy = candidate.value;
    const found = tryMatch(candidate, subject);
    if (found instanceof Error) return [{ policy, binding: undefined, error: found }];
    if (found === undefined) {
      this.#skip(
        subject.attributes,
        policy.name,
        "",
        "not about this write by its matchConstraints",
      );
      return undefined;
    }
    const bindings: Binding[] = [];
    const errors: Unmatched[] = [];
    const { bindings: bound } = this.#indexFor(subject.served);
    for (const one of bound.get(placeOf(policy, policy.name))?.candidates(subject) ?? []) {
      const binding = one.value;
      const way = tryMatch(one, subject);
      if (way instanceof Error) errors.push({ policy, binding, error: way });
      else if (way !== undefined) bindings.push(binding);
      else
        this.#skip(
          subject.attributes,
          policy.name,
          binding.name,
          "not about this write by its matchResources",
        );
    }
    return errors.length > 0 ? errors : { policy, resource: found, bindings };
  }

  /** Explains the rules that the index leaves out, for requests that ask for it. */
  explainOthers(
    attributes: AdmissionAttributes,
    served: ServedResource,
    candidates: readonly Candidate<Policy>[],
  ): void {
    const { policies, policiesSeen } = this.#indexFor(served);
    const considered = new Set(candidates.map(({ value }) => value));
    const bound = new Set(policies.entries.map(({ value }) => value));
    for (const { value } of policiesSeen.entries) {
      if (considered.has(value)) continue;
      const why = bound.has(value)
        ? "not about such requests by its matchConstraints"
        : "it has no binding";
      this.#skip(attributes, value.name, "", why);
    }
  }

  #skip(attributes: AdmissionAttributes, configuration: string, rule: string, why: string): void {
    const plugin = this.#plugin;
    attributes.explain?.({ plugin, configuration, rule, outcome: "skipped", why, milliseconds: 0 });
  }

  #indexFor(served: ServedResource): Current {
    return this.#index(isExempt(this.#context.naming, served));
  }

  /** Rebuilt when policies or bindings have changed. */
  #index(isExemptHere: boolean): Current {
    const known = isExemptHere ? this.#static : this.#current;
    const policiesSeen = this.#policies.indexFor(isExemptHere);
    const bindingsSeen = this.#bindings.indexFor(isExemptHere);
    if (known?.policiesSeen === policiesSeen && known.bindingsSeen === bindingsSeen) return known;
    const made = bind(policiesSeen, bindingsSeen, () => this.#context.catalog.current);
    if (isExemptHere) this.#static = made;
    else this.#current = made;
    return made;
  }
}

function bind(
  policiesSeen: CriteriaIndex<Policy>,
  bindingsSeen: CriteriaIndex<Binding>,
  catalog: () => Catalog,
): Current {
  const grouped = new Map<string, Entry<Binding>[]>();
  for (const entry of bindingsSeen.entries) {
    const place = placeOf(entry.value, entry.value.policyName);
    const sharing = grouped.get(place);
    if (sharing === undefined) grouped.set(place, [entry]);
    else sharing.push(entry);
  }
  return {
    policiesSeen,
    bindingsSeen,
    policies: new CriteriaIndex(
      policiesSeen.entries.filter(({ value }) => grouped.has(placeOf(value, value.name))),
      catalog,
    ),
    bindings: new Map(
      [...grouped].map(([place, entries]) => [place, new CriteriaIndex(entries, catalog)]),
    ),
  };
}

function placeOf({ isStatic }: Policy | Binding, policyName: string): string {
  return isStatic ? `manifest/${policyName}` : policyName;
}

function tryMatch<T>(
  candidate: Candidate<T>,
  subject: WriteSubject,
): ServedResource | Error | undefined {
  try {
    const found = match(candidate, subject);
    return "resource" in found ? found.resource : undefined;
  } catch (error) {
    return error as Error;
  }
}
