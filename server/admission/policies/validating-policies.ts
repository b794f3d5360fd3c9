/**
 * ValidatingAdmissionPolicy: judges writes by the expressions of bound policies. It is synchronous unless
 * an expression has to wait for an authorizer; everything is then evaluated again with the answer, so
 * warnings and audit annotations are emitted once, at the end.
 */

import type { Steps } from "../../../storage/base/steps.js";
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
import { type RuleContext, RuleMatcher } from "../matching/rule-context.js";
import { Evaluation, type Findings, type Objection } from "./evaluation.js";
import { Exclusions } from "./excluded.js";
import { PARAMS_STEP_COST, ParamFinder, type Params, type ParamUse } from "./params.js";
import type { Binding, Policy, ValidationAction } from "./policy.js";
import { PolicySet } from "./policy-set.js";

/** The result of one policy with one binding and one parameter. */
interface PolicyResult {
  readonly policy: Policy;
  readonly binding: Binding | undefined;
  readonly findings: Findings;
  /** Set if the policy could not be evaluated; the failure policy decides. */
  readonly misconfigured?: boolean;
  /** Why the evaluation was skipped. */
  readonly skipped?: string;
  readonly milliseconds: number;
}

export class ValidatingPolicies implements AdmissionPlugin {
  readonly name = "ValidatingAdmissionPolicy";
  readonly #context: RuleContext;
  readonly #set: PolicySet;
  readonly #params: ParamFinder;
  readonly #exclusions: Exclusions;

  constructor(context: RuleContext) {
    this.#context = context;
    this.#set = new PolicySet(context, "validating", this.name);
    this.#params = new ParamFinder(context);
    this.#exclusions = new Exclusions(context.naming, context.exclusions);
  }

  handles(_operation: AdmissionOperation, resource: AdmissionResource): boolean {
    return !this.#exclusions.has(resource) && !this.#set.isEmptyFor(resource);
  }

  subscribe(changed: () => void): void {
    this.#set.subscribe(changed);
  }

  /** The parameters that the bindings name. */
  paramUses(): ParamUse[] {
    return this.#set.paramUses();
  }

  validate(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined {
    const { served } = attributes;
    if (served === undefined) return undefined;
    const candidates = this.#set.candidates(attributes, served);
    if (attributes.explain !== undefined) this.#set.explainOthers(attributes, served, candidates);
    if (candidates.length === 0) return undefined;
    const matcher = new RuleMatcher(this.#context, attributes, served, signalOf(signal));
    const results: (PolicyResult[] | Promise<PolicyResult[]>)[] = [];
    for (const candidate of candidates) {
      const bound = this.#set.bind(candidate, matcher.subject);
      if (bound === undefined) continue;
      if (Array.isArray(bound)) {
        results.push(bound.map(({ policy, binding, error }) => misfit(policy, binding, error)));
        continue;
      }
      const { policy, resource, bindings } = bound;
      const judged = bindings.map((binding) => new Judgement(matcher, policy, binding, resource));
      results.push(whenAnswered(() => judged.flatMap((one) => one.finish(this.#params))));
    }
    if (results.some((result) => result instanceof Promise)) {
      return Promise.all(results).then((all) => publish(matcher, all.flat()));
    }
    publish(matcher, (results as PolicyResult[][]).flat());
    return undefined;
  }
}

/** One policy with one binding on one write, which goes on where it was aborted. */
class Judgement {
  readonly #matcher: RuleMatcher;
  readonly #policy: Policy;
  readonly #binding: Binding;
  readonly #resource: ServedResource;
  readonly #results: PolicyResult[] = [];
  #finding: Steps<Params> | undefined;
  #params: Params | undefined;
  #bindings: Readonly<Record<string, unknown>> | undefined;
  /** With the parameter behind those that have results. */
  #evaluation: Evaluation | undefined;

  constructor(matcher: RuleMatcher, policy: Policy, binding: Binding, resource: ServedResource) {
    this.#matcher = matcher;
    this.#policy = policy;
    this.#binding = binding;
    this.#resource = resource;
  }

  /** One result for each parameter. Throws to abort. */
  finish(finder: ParamFinder): readonly PolicyResult[] {
    const { subject, turns, context } = this.#matcher;
    const policy = this.#policy;
    try {
      this.#finding ??= finder.find(policy, this.#binding, subject);
      this.#params ??= turns.finishSteps(this.#finding, PARAMS_STEP_COST);
    } catch (error) {
      rethrowAwaited(error);
      this.#params = [];
      this.#results.push(misfit(policy, this.#binding, error as Error));
    }
    this.#bindings ??= {
      ...this.#matcher.bindings(this.#resource),
      namespaceObject: new Late(() => finder.namespaceOf(subject)),
    };
    const { nowMs } = context;
    while (this.#results.length < this.#params.length) {
      const param = this.#params[this.#results.length] ?? null;
      this.#evaluation ??= new Evaluation(policy, this.#bindings, param, { turns, nowMs });
      this.#results.push(this.#resultOf(this.#evaluation));
      this.#evaluation = undefined;
    }
    return this.#results;
  }

  #resultOf(evaluation: Evaluation): PolicyResult {
    const policy = this.#policy;
    const { nowMs } = this.#matcher.context;
    const { startMs, conditions } = evaluation;
    const rule = { name: policy.name, kind: "policy", step: "validate" } as const;
    const result = conditions.isEmpty
      ? ({ matches: true } as const)
      : this.#matcher.judgeConditions(conditions, rule);
    const ended = (findings: Findings, skipped?: string): PolicyResult => ({
      policy,
      binding: this.#binding,
      findings,
      milliseconds: nowMs() - startMs,
      ...(skipped !== undefined && { skipped }),
    });
    if (result.matches === false) {
      return ended(NOTHING, `match condition ${JSON.stringify(result.failed)} is false`);
    }
    if (result.matches === "unknown") {
      return ended(objectionsOf(result.error.message, nowMs() - startMs));
    }
    return ended(evaluation.validate(policy));
  }
}

const NOTHING: Findings = { objections: [], annotations: [] };

/** It could not be asked. */
function objectionsOf(message: string, milliseconds: number): Findings {
  const objection = { message, reason: "", index: -1, cause: "error", milliseconds } as const;
  return { objections: [objection], annotations: [] };
}

function misfit(policy: Policy, binding: Binding | undefined, error: Error): PolicyResult {
  const what = binding === undefined ? "policy" : "binding";
  const findings = objectionsOf(`failed to configure ${what}: ${error.message}`, 0);
  return { policy, binding, findings, misconfigured: true, milliseconds: 0 };
}

interface Denial {
  readonly text: string;
  readonly reason: string;
}

/** Emits warnings, audit annotations and metrics, and throws the first denial. @throws {StatusError} */
function publish(matcher: RuleMatcher, results: readonly PolicyResult[]): void {
  const { attributes } = matcher.subject;
  const denials: Denial[] = [];
  const failures: object[] = [];
  const annotations = new Map<string, string[]>();
  for (const result of results) {
    const { policy, binding, findings } = result;
    for (const { key, value } of findings.annotations) {
      const whole = `${policy.name}/${key}`;
      const values = annotations.get(whole) ?? [];
      if (!values.includes(value)) values.push(value);
      annotations.set(whole, values);
    }
    const counted: Objection[] = [];
    for (const objection of findings.objections) {
      if (objection.cause !== "false" && policy.ignoresFailures) {
        if (!objection.isAnnotation) measure(matcher, result, objection, "allow");
        continue;
      }
      counted.push(objection);
      const { message, reason, index } = objection;
      const by = `ValidatingAdmissionPolicy '${policy.name}'${binding === undefined ? "" : ` with binding '${binding.name}'`}`;
      for (const action of actionsFor(result, objection)) {
        measure(matcher, result, objection, MEASURED[action]);
        if (action === "Deny") denials.push({ text: `${by} denied request: ${message}`, reason });
        else if (action === "Warn") attributes.warn(`Validation failed for ${by}: ${message}`);
        else {
          failures.push({
            message,
            policy: policy.name,
            binding: binding?.name ?? "",
            expressionIndex: index,
            validationActions: [...(binding?.actions ?? DENY)],
          });
        }
      }
    }
    explain(matcher, result, counted);
  }
  for (const [key, values] of annotations) attributes.annotate?.(key, values.join(", "));
  if (failures.length > 0) {
    const key = `validation.policy.admission.${matcher.context.naming.groupDomain}/validation_failure`;
    attributes.annotate?.(key, JSON.stringify(failures));
  }
  const [first] = denials;
  if (first !== undefined) throw denied(matcher, first);
}

const DENY: ReadonlySet<ValidationAction> = new Set<ValidationAction>(["Deny"]);
const MEASURED = { Deny: "deny", Warn: "warn", Audit: "audit" } as const;

/** What cannot be asked, or cannot say what to note, has no actions: it is denied. */
function actionsFor(
  { binding, misconfigured }: PolicyResult,
  { isAnnotation }: Objection,
): ReadonlySet<ValidationAction> {
  return misconfigured || isAnnotation ? DENY : (binding?.actions ?? DENY);
}

/** What held is not counted, nor what could not be asked; as kube-apiserver has it. */
function measure(
  matcher: RuleMatcher,
  { policy, binding, misconfigured }: PolicyResult,
  { cause, milliseconds }: Objection,
  enforcement: "allow" | "deny" | "warn" | "audit",
): void {
  if (misconfigured) return;
  matcher.context.metrics.policyValidated({
    policy: policy.name,
    binding: binding?.name ?? "",
    enforcement,
    error: errorTypeOf(cause),
    seconds: milliseconds / 1000,
  });
}

function explain(matcher: RuleMatcher, result: PolicyResult, counted: readonly Objection[]): void {
  const { policy, binding, skipped, milliseconds } = result;
  const [first] = counted;
  matcher.explain({
    plugin: "ValidatingAdmissionPolicy",
    configuration: policy.name,
    rule: binding?.name ?? "",
    outcome: skipped !== undefined ? "skipped" : first === undefined ? "allowed" : outcomeOf(first),
    why: skipped ?? first?.message ?? "",
    milliseconds,
  });
}

function outcomeOf({ cause }: Objection): "refused" | "failed" {
  return cause === "false" ? "refused" : "failed";
}

/** As kube-apiserver's metrics name it. */
export function errorTypeOf(cause: Objection["cause"] | undefined) {
  switch (cause) {
    case "false":
    case "error":
      return "invalid_error";
    case "budget":
      return "out_of_budget";
    case "compile":
      return "compile_error";
    default:
      return "no_error";
  }
}

const CODES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
};
const REASON_DEFAULT = "Invalid";
const CODE_DEFAULT = 422;

function denied(matcher: RuleMatcher, { text, reason }: Denial): StatusError {
  const { status } = matcher.refuse(text);
  const said = reason || REASON_DEFAULT;
  return new StatusError({
    ...status,
    reason: said,
    code: CODES[said] ?? CODE_DEFAULT,
    details: { ...status.details, causes: [...(status.details?.causes ?? []), { message: text }] },
  });
}
