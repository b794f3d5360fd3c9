/**
 * PolicySet: the policies of one kind with their bindings, as the view has them, and which pairs are
 * about a write. A policy without a binding is about nothing.
 */
import { partitionId } from "../../../storage/objects/keys.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { AdmissionAttributes } from "../admission.js";
import { type Candidate, CriteriaIndex, match } from "../matching/criteria-index.js";
import type { RuleContext } from "../matching/rule-context.js";
import { StoredRules } from "../matching/stored-rules.js";
import type { WriteSubject } from "../matching/write-subject.js";
import type { ParamUse } from "./params.js";
import { type Binding, type Policy, readBinding, readPolicy } from "./policy.js";

/** A policy and those of its bindings that may be about a write. */
export interface BoundPolicy {
  readonly policy: Policy;
  /** The version in which the policy sees the objects. */
  readonly resource: ServedResource;
  readonly bindings: readonly Binding[];
}

/** A policy or binding of which there is no telling whether it is about a write. */
export interface Unmatched {
  readonly policy: Policy;
  readonly binding: Binding | undefined;
  readonly error: Error;
}

interface Current {
  readonly policiesSeen: CriteriaIndex<Policy>;
  readonly bindingsSeen: CriteriaIndex<Binding>;
  readonly policies: CriteriaIndex<Policy>;
  readonly bindings: ReadonlyMap<string, CriteriaIndex<Binding>>;
}

export class PolicySet {
  readonly #context: RuleContext;
  readonly #policies: StoredRules<Policy>;
  readonly #bindings: StoredRules<Binding>;
  readonly #plugin: string;
  #current: Current | undefined;

  constructor(context: RuleContext, kind: "validating" | "mutating", plugin: string) {
    const { view, naming, catalog } = context;
    const partition = (resource: string) =>
      view.partition(partitionId(`admissionregistration.${naming.groupDomain}`, resource));
    const current = () => catalog.current;
    this.#context = context;
    this.#plugin = plugin;
    this.#policies = new StoredRules(
      partition(`${kind}admissionpolicies`),
      (object) => {
        const policy = readPolicy(object);
        return [{ criteria: policy.criteria, value: policy }];
      },
      current,
    );
    this.#bindings = new StoredRules(
      partition(`${kind}admissionpolicybindings`),
      (object) => {
        const binding = readBinding(object);
        return [{ criteria: binding.criteria, value: binding }];
      },
      current,
    );
  }

  get isEmpty(): boolean {
    return this.#policies.size === 0 || this.#bindings.size === 0;
  }

  /** The parameters that bindings name. */
  paramUses(): ParamUse[] {
    const { policies, bindings } = this.#index();
    return policies.entries.flatMap(({ value: { name, paramKind: kind } }) => {
      if (kind === undefined) return [];
      const bound = bindings.get(name)?.entries ?? [];
      return bound.flatMap(({ value: { paramRef: ref } }) =>
        ref === undefined ? [] : [{ kind, ref }],
      );
    });
  }

  subscribe(changed: () => void): void {
    this.#policies.subscribe(changed);
    this.#bindings.subscribe(changed);
  }

  hasAny({ operation, subresource }: AdmissionAttributes, served: ServedResource): boolean {
    return this.#index().policies.hasAny(operation, served, subresource);
  }

  /** Policies that may be about the write, in the order of their names. */
  candidates(subject: WriteSubject): readonly Candidate<Policy>[] {
    return this.#index().policies.candidates(subject);
  }

  /** @returns undefined = not about it */
  bind(candidate: Candidate<Policy>, subject: WriteSubject): BoundPolicy | Unmatched[] | undefined {
    const policy = candidate.value;
    const found = tryMatch(candidate, subject);
    if (found instanceof Error) return [{ policy, binding: undefined, error: found }];
    if (found === undefined) {
      this.#skip(subject, policy.name, "", "not about this write by its matchConstraints");
      return undefined;
    }
    const bindings: Binding[] = [];
    const errors: Unmatched[] = [];
    for (const one of this.#index().bindings.get(policy.name)?.candidates(subject) ?? []) {
      const binding = one.value;
      const bound = tryMatch(one, subject);
      if (bound instanceof Error) errors.push({ policy, binding, error: bound });
      else if (bound !== undefined) bindings.push(binding);
      else
        this.#skip(
          subject,
          policy.name,
          binding.name,
          "not about this write by its matchResources",
        );
    }
    return errors.length > 0 ? errors : { policy, resource: found, bindings };
  }

  /** For requests that want to know: names what the index leaves out. */
  explainOthers(subject: WriteSubject): void {
    if (subject.attributes.explain === undefined) return;
    const { policies } = this.#index();
    const considered = new Set(policies.candidates(subject).map(({ value }) => value));
    for (const { value } of this.#policies.index.entries) {
      if (considered.has(value)) continue;
      const isBound = policies.entries.some((entry) => entry.value === value);
      const why = isBound ? "not about such requests by its matchConstraints" : "it has no binding";
      this.#skip(subject, value.name, "", why);
    }
  }

  #skip({ attributes }: WriteSubject, configuration: string, rule: string, why: string): void {
    const plugin = this.#plugin;
    attributes.explain?.({ plugin, configuration, rule, outcome: "skipped", why, milliseconds: 0 });
  }

  /** Made again when policies or bindings are others. */
  #index(): Current {
    const policiesSeen = this.#policies.index;
    const bindingsSeen = this.#bindings.index;
    const known = this.#current;
    if (known?.policiesSeen === policiesSeen && known.bindingsSeen === bindingsSeen) return known;
    const catalog = () => this.#context.catalog.current;
    const grouped = new Map<string, (typeof bindingsSeen.entries)[number][]>();
    for (const entry of bindingsSeen.entries) {
      const { policyName } = entry.value;
      const sharing = grouped.get(policyName);
      if (sharing === undefined) grouped.set(policyName, [entry]);
      else sharing.push(entry);
    }
    const made: Current = {
      policiesSeen,
      bindingsSeen,
      policies: new CriteriaIndex(
        policiesSeen.entries.filter(({ value }) => grouped.has(value.name)),
        catalog,
      ),
      bindings: new Map(
        [...grouped].map(([name, entries]) => [name, new CriteriaIndex(entries, catalog)]),
      ),
    };
    this.#current = made;
    return made;
  }
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
