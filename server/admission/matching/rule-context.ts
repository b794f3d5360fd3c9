/**
 * RuleContext: the dependencies of plugins that evaluate users' rules. RuleMatcher: the rules' view of one
 * write, which tells whether a rule matches and binds the variables of expressions.
 */
import type { Naming } from "../../api/naming.js";
import { forbidden, type StatusError } from "../../api/status.js";
import type { Catalog } from "../../kinds/catalog.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { AdmissionAttributes, AdmissionOperation, RuleFinding } from "../admission.js";
import type { ManifestSource } from "../static/manifest-source.js";
import type { AdmissionView } from "../stored-objects.js";
import { type AskForPermission, AuthorizerAnswers } from "./authorizer-answers.js";
import type { ConditionsResult, ConditionsRun } from "./conditions.js";
import { EvaluationTurns } from "./evaluation-turns.js";
import { bindingsOf, requestOf } from "./request-environment.js";
import { WriteSubject } from "./write-subject.js";

export interface RuleContext {
  readonly view: AdmissionView;
  readonly naming: Naming;
  readonly catalog: { readonly current: Catalog };
  readonly ask: AskForPermission;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly metrics: RuleMetrics;
  /** Rules from files; default: none. */
  readonly manifests?: ManifestSource;
  /** Resources that policies have no say about, besides the built-in ones. */
  readonly exclusions?: readonly { readonly group: string; readonly resource: string }[];
}

/** As kube-apiserver's measures call them: webhooks are "validating", what policies do is "validate". */
export type AdmissionStep = "admit" | "validate" | "validating";

/** Metrics of rules, under kube-apiserver's names. */
export interface RuleMetrics {
  /** A webhook call ended; code 503 means that there was no usable answer, 0 an error of this server. */
  webhookAsked(call: {
    readonly name: string;
    readonly step: AdmissionStep;
    readonly operation: AdmissionOperation;
    readonly isRejected: boolean;
    readonly code: number;
    readonly seconds: number;
  }): void;
  webhookRefused(refusal: {
    readonly name: string;
    readonly step: AdmissionStep;
    readonly operation: AdmissionOperation;
    readonly error: "calling_webhook_error" | "apiserver_internal_error" | "no_error";
    readonly code: number;
  }): void;
  webhookFailedOpen(name: string, step: AdmissionStep): void;
  conditionsEvaluated(rule: ConditionsOf, result: ConditionsResult, seconds: number): void;
  /** A validation did not hold, or gave no answer; once for each action that was taken. */
  policyValidated(
    check: PolicyCheck & { readonly enforcement: "allow" | "deny" | "warn" | "audit" },
  ): void;
  /** One mutation was made, or failed. */
  policyMutated(check: PolicyCheck): void;
}

export interface PolicyCheck {
  readonly policy: string;
  readonly binding: string;
  /** A validation that is false counts as "invalid_error", as kube-apiserver has it. */
  readonly error: "no_error" | "compile_error" | "invalid_error" | "out_of_budget";
  readonly seconds: number;
}

export interface ConditionsOf {
  readonly name: string;
  readonly kind: "webhook" | "policy";
  readonly step: AdmissionStep;
  readonly operation: AdmissionOperation;
}

/** Kinds that API rules never match, since a rule could make itself irremovable. Rules from files do match them. */
const EXEMPT: ReadonlySet<string> = new Set([
  "validatingwebhookconfigurations",
  "mutatingwebhookconfigurations",
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
]);

/** Whether users' rules skip the resource, unless they come from files. */
export function isExempt(
  naming: Naming,
  { group, resource }: { readonly group: string; readonly resource: string },
): boolean {
  return group === `admissionregistration.${naming.groupDomain}` && EXEMPT.has(resource);
}

/** One write before the rules of one plugin. */
export class RuleMatcher {
  readonly context: RuleContext;
  readonly subject: WriteSubject;
  readonly turns: EvaluationTurns;
  readonly #answers: AuthorizerAnswers;

  constructor(
    context: RuleContext,
    attributes: AdmissionAttributes,
    served: ServedResource,
    signal: AbortSignal,
  ) {
    this.context = context;
    this.subject = new WriteSubject(attributes, served, context.view);
    this.turns = new EvaluationTurns(signal, attributes.pause);
    this.#answers = new AuthorizerAnswers(context.ask, attributes.user, signal);
  }

  /** Binds the variables that all rules share. */
  bindings(resource: ServedResource): Record<string, unknown> {
    const request = () => requestOf(this.subject, resource, this.context.naming);
    return bindingsOf(this.subject, resource, request, this.#answers.value);
  }

  /** Measured. Throws to abort while an answer of the authorizer is missing, or its turn is used up. */
  judgeConditions(
    conditions: ConditionsRun,
    rule: Omit<ConditionsOf, "operation">,
  ): ConditionsResult {
    if (conditions.result !== undefined) return conditions.result;
    const { metrics, nowMs } = this.context;
    const { operation } = this.subject.attributes;
    const startMs = nowMs();
    const result = conditions.finish(this.turns);
    metrics.conditionsEvaluated({ ...rule, operation }, result, (nowMs() - startMs) / 1000);
    return result;
  }

  refuse(why: string): StatusError {
    const { served, name } = this.subject;
    return forbidden(served, name || "Unknown", why);
  }

  explain(finding: RuleFinding): void {
    const { attributes } = this.subject;
    if (finding.outcome === "changed" || finding.outcome === "refused") attributes.acted?.(finding);
    attributes.explain?.(finding);
  }
}
