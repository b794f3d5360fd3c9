/**
 * MutatingAdmissionPolicy: changes objects by the expressions of bound policies. Policies run one after
 * another, each on the result of those before it. A mutation is a configuration, merged like server-side
 * apply, or a JSON patch.
 */

import type { Steps } from "../../../storage/base/steps.js";
import type { ApiObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { Late } from "../../cel/environment.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type {
  AdmissionAttributes,
  AdmissionOperation,
  AdmissionPlugin,
  AdmissionResource,
} from "../admission.js";
import { rethrowAwaited, whenAnswered } from "../matching/authorizer-answers.js";
import type { Candidate } from "../matching/criteria-index.js";
import { type RuleContext, RuleMatcher } from "../matching/rule-context.js";
import { fromServed } from "../matching/write-subject.js";
import { Rounds } from "../rounds.js";
import { Evaluation, ExpressionError } from "./evaluation.js";
import { Exclusions } from "./excluded.js";
import { mutated } from "./mutated.js";
import { PARAMS_STEP_COST, ParamFinder, type Params, type ParamUse } from "./params.js";
import type { Binding, Mutation, Policy } from "./policy.js";
import { PolicySet } from "./policy-set.js";
import { errorTypeOf } from "./validating-policies.js";

/** One mutation that was tried: why it failed, unless it did not. */
interface Check {
  readonly cause: ExpressionError["kind"] | undefined;
  readonly milliseconds: number;
}

/** One policy with one binding on one write, which goes on where it was aborted. */
class Attempt {
  readonly policy: Policy;
  readonly binding: Binding;
  readonly resource: ServedResource;
  /** One for each mutation. */
  readonly checks: Check[] = [];
  /** Failures that the policy ignores. */
  readonly ignored: ExpressionError[] = [];
  startMs = 0;
  finding: Steps<Params> | undefined;
  params: Params | undefined;
  /** Before the first mutation, with its text. */
  before: { readonly object: ApiObject; readonly text: string } | undefined;
  /** How many parameters are done with. */
  at = 0;
  /** What the mutations so far have made of it. */
  shown: ApiObject | undefined;
  evaluation: Evaluation | undefined;
  /** How many mutations the evaluation is done with. */
  mutations = 0;
  mutationMs = 0;

  constructor(policy: Policy, binding: Binding, resource: ServedResource) {
    this.policy = policy;
    this.binding = binding;
    this.resource = resource;
  }
}

export class MutatingPolicies implements AdmissionPlugin {
  readonly name = "MutatingAdmissionPolicy";
  readonly #context: RuleContext;
  readonly #set: PolicySet;
  readonly #params: ParamFinder;
  readonly #exclusions: Exclusions;

  constructor(context: RuleContext) {
    this.#context = context;
    this.#set = new PolicySet(context, "mutating", this.name);
    this.#params = new ParamFinder(context);
    this.#exclusions = new Exclusions(context.naming, context.exclusions);
  }

  handles(operation: AdmissionOperation, resource: AdmissionResource): boolean {
    // A delete has no object to change.
    if (operation === "DELETE" || this.#exclusions.has(resource)) return false;
    return !this.#set.isEmptyFor(resource);
  }

  subscribe(changed: () => void): void {
    this.#set.subscribe(changed);
  }

  /** The parameters that the bindings name. */
  paramUses(): ParamUse[] {
    return this.#set.paramUses();
  }

  mutate(attributes: AdmissionAttributes, signal: SignalSource): boolean | Promise<boolean> {
    const { served } = attributes;
    if (served === undefined) return false;
    const candidates = this.#set.candidates(attributes, served);
    if (attributes.explain !== undefined) this.#set.explainOthers(attributes, served, candidates);
    if (candidates.length === 0) return false;
    const matcher = new RuleMatcher(this.#context, attributes, served, signalOf(signal));
    const rounds = attributes.rounds ?? new Rounds();
    attributes.rounds = rounds;
    const memory = rounds.memoryOf(this.name);
    if (rounds.isSecond && !memory.isAsLeft(textOf(matcher))) memory.changed();
    const finish = (isChanged: boolean) => {
      memory.leave(textOf(matcher));
      return isChanged;
    };
    const answer = this.#from(0, candidates, matcher, rounds);
    return answer instanceof Promise ? answer.then(finish) : finish(answer);
  }

  /** Stays synchronous as long as the expressions do. */
  #from(
    start: number,
    candidates: readonly Candidate<Policy>[],
    matcher: RuleMatcher,
    rounds: Rounds,
  ): boolean | Promise<boolean> {
    let isChanged = false;
    for (let index = start; index < candidates.length; index++) {
      const candidate = candidates[index] as Candidate<Policy>;
      const answer = this.#ask(candidate, matcher, rounds);
      if (answer instanceof Promise) {
        return answer.then(async (changed) => {
          const rest = await this.#from(index + 1, candidates, matcher, rounds);
          return isChanged || changed || rest;
        });
      }
      isChanged ||= answer;
    }
    return isChanged;
  }

  #ask(
    candidate: Candidate<Policy>,
    matcher: RuleMatcher,
    rounds: Rounds,
  ): boolean | Promise<boolean> {
    const bound = this.#set.bind(candidate, matcher.subject);
    if (bound === undefined) return false;
    if (Array.isArray(bound)) {
      for (const { policy, binding, error } of bound) misfit(matcher, policy, binding, error);
      return false;
    }
    const { policy, resource, bindings } = bound;
    const memory = rounds.memoryOf(this.name);
    const one = (at: number, before: boolean): boolean | Promise<boolean> => {
      const binding = bindings[at];
      if (binding === undefined) return before;
      const id = `${policy.isStatic ? "manifest/" : ""}${policy.name}/${binding.name}`;
      if (rounds.isSecond && !memory.isDue(id)) return one(at + 1, before);
      const settle = (changed: boolean): boolean | Promise<boolean> => {
        if (changed) {
          memory.changed();
          rounds.want();
        }
        if (policy.isReinvocable) memory.asked(id);
        return one(at + 1, before || changed);
      };
      const attempt = new Attempt(policy, binding, resource);
      attempt.startMs = this.#context.nowMs();
      const answer = whenAnswered(() => this.#apply(matcher, attempt));
      return answer instanceof Promise ? answer.then(settle) : settle(answer);
    };
    return one(0, false);
  }

  /** Changes the object only as its last step, because it may be aborted before. */
  #apply(matcher: RuleMatcher, attempt: Attempt): boolean {
    const { nowMs } = this.#context;
    const { subject, turns } = matcher;
    const { policy, binding, resource, startMs } = attempt;
    try {
      attempt.finding ??= this.#params.find(policy, binding, subject);
      attempt.params ??= turns.finishSteps(attempt.finding, PARAMS_STEP_COST);
    } catch (error) {
      rethrowAwaited(error);
      misfit(matcher, policy, binding, error as Error);
      return false;
    }
    if (attempt.before === undefined) {
      const object = subject.object(resource);
      if (object === undefined) return false;
      attempt.before = { object, text: resource.codec.encode(object) };
    }
    const { object: before, text } = attempt.before;
    attempt.shown ??= before;
    try {
      for (; attempt.at < attempt.params.length; attempt.at++) {
        const param = attempt.params[attempt.at] ?? null;
        attempt.shown = this.#mutate(matcher, attempt, param, attempt.shown);
        attempt.evaluation = undefined;
      }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      measure(matcher, attempt);
      explain(matcher, policy, binding, nowMs() - startMs, error);
      throw refusal(matcher, policy, binding, error.message, "Invalid");
    }
    const { shown } = attempt;
    const changed = shown !== before && resource.codec.encode(shown) !== text;
    if (changed) {
      subject.attributes.object = fromServed(shown, resource);
      subject.forgetVersions();
    }
    measure(matcher, attempt);
    explain(matcher, policy, binding, nowMs() - startMs, attempt.ignored[0], changed);
    return changed;
  }

  /** @throws {ExpressionError} if a condition or mutation failed and failures are not ignored */
  #mutate(
    matcher: RuleMatcher,
    attempt: Attempt,
    param: ApiObject | null,
    object: ApiObject,
  ): ApiObject {
    const { nowMs } = this.#context;
    const { policy, resource, ignored } = attempt;
    if (attempt.evaluation === undefined) {
      const bindings = matcher.bindings(resource);
      bindings.object = object;
      bindings.namespaceObject = new Late(() => this.#params.namespaceOf(matcher.subject));
      const { turns } = matcher;
      attempt.evaluation = new Evaluation(policy, bindings, param, { turns, nowMs });
      attempt.mutations = 0;
      attempt.mutationMs = nowMs();
    }
    const { evaluation } = attempt;
    if (!evaluation.conditions.isEmpty) {
      const rule = { name: policy.name, kind: "policy", step: "admit" } as const;
      const result = matcher.judgeConditions(evaluation.conditions, rule);
      if (result.matches === false) return object;
      if (result.matches === "unknown") {
        const error = new ExpressionError(result.error.message, "error");
        if (!policy.ignoresFailures) throw error;
        ignored.push(error);
        return object;
      }
    }
    while (attempt.mutations < policy.mutations.length) {
      const mutation = policy.mutations[attempt.mutations] as Mutation;
      const ended = (cause: ExpressionError["kind"] | undefined) => {
        const endMs = nowMs();
        attempt.checks.push({ cause, milliseconds: endMs - attempt.mutationMs });
        attempt.mutationMs = endMs;
        attempt.mutations++;
      };
      const shown = attempt.shown ?? object;
      try {
        attempt.shown = mutated(evaluation, mutation, resource, shown);
        ended(undefined);
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        ended(error.kind);
        if (!policy.ignoresFailures) throw error;
        // The mutations before and after it count all the same, as kube-apiserver.
        ignored.push(error);
      }
      evaluation.renew(attempt.shown, policy);
    }
    return attempt.shown ?? object;
  }
}

/** @throws {StatusError} unless failures are ignored */
function misfit(
  matcher: RuleMatcher,
  policy: Policy,
  binding: Binding | undefined,
  error: Error,
): void {
  const what = binding === undefined ? "policy" : "binding";
  const message = `failed to configure ${what}: ${error.message}`;
  explain(matcher, policy, binding, 0, new ExpressionError(message, "error"));
  if (!policy.ignoresFailures) throw refusal(matcher, policy, binding, message);
}

function refusal(
  matcher: RuleMatcher,
  policy: Policy,
  binding: Binding | undefined,
  message: string,
  reason = "Forbidden",
): StatusError {
  const by =
    binding === undefined
      ? `policy ${JSON.stringify(policy.name)}`
      : `policy '${policy.name}' with binding '${binding.name}'`;
  const text = `${by} denied request: ${message}`;
  const { status } = matcher.refuse(text);
  // The code stays 403 whatever the reason, as kube-apiserver.
  const details = { ...status.details, causes: [{ message: text }] };
  return new StatusError({ ...status, message: text, reason, details });
}

function measure(matcher: RuleMatcher, { policy, binding, checks }: Attempt): void {
  for (const { cause, milliseconds } of checks) {
    matcher.context.metrics.policyMutated({
      policy: policy.name,
      binding: binding.name,
      error: errorTypeOf(cause),
      seconds: milliseconds / 1000,
    });
  }
}

function explain(
  matcher: RuleMatcher,
  policy: Policy,
  binding: Binding | undefined,
  milliseconds: number,
  error: ExpressionError | undefined,
  isChanged = false,
): void {
  matcher.explain({
    plugin: "MutatingAdmissionPolicy",
    configuration: policy.name,
    rule: binding?.name ?? "",
    outcome: isChanged ? "changed" : error !== undefined ? "failed" : "allowed",
    why: error?.message ?? "",
    milliseconds,
  });
}

function textOf({ subject }: RuleMatcher): string {
  const object = subject.object(subject.served);
  return object === undefined ? "" : subject.served.codec.encode(object);
}
