/**
 * RuleContext: what plugins that judge by users' rules are made of, and the rules' view of one write:
 * whether a rule is about it, with everything that expressions see.
 */
import type { Naming } from "../../api/naming.js";
import { forbidden, type StatusError } from "../../api/status.js";
import type { Catalog } from "../../kinds/catalog.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { AdmissionAttributes, AdmissionOperation, RuleFinding } from "../admission.js";
import type { ManifestSource } from "../static/manifest-source.js";
import type { AdmissionView } from "../stored-objects.js";
import { type AskForPermission, AuthorizerAnswers } from "./authorizer-answers.js";
import { type Condition, type ConditionsVerdict, evaluateConditions } from "./conditions.js";
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
  /** Rules that come from files; default: there are none. */
  readonly manifests?: ManifestSource;
}

export type AdmissionStep = "admit" | "validate";

/** What plugins tell of rules, in upstream's measures. */
export interface RuleMetrics {
  /** A webhook answered, or did not; code 0 where there was none. */
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
  conditionsEvaluated(rule: ConditionsOf, verdict: ConditionsVerdict, seconds: number): void;
  policyChecked(check: {
    readonly kind: "validating" | "mutating";
    readonly policy: string;
    readonly binding: string;
    readonly enforcement: "allow" | "deny" | "warn" | "audit";
    readonly error: "no_error" | "compile_error" | "invalid_error" | "out_of_budget";
    readonly seconds: number;
  }): void;
}

export interface ConditionsOf {
  readonly name: string;
  readonly kind: "webhook" | "policy";
  readonly step: AdmissionStep;
  readonly operation: AdmissionOperation;
}

/** Kinds that no rule of the API judges, as it could make itself irremovable. Those of files do. */
const EXEMPT: ReadonlySet<string> = new Set([
  "validatingwebhookconfigurations",
  "mutatingwebhookconfigurations",
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
]);

/** Whether rules that users bring have no say about the resource, unless they come from files. */
export function isExempt(
  naming: Naming,
  { group, resource }: { readonly group: string; readonly resource: string },
): boolean {
  return group === `admissionregistration.${naming.groupDomain}` && EXEMPT.has(resource);
}

/** One write before the rules of one plugin. */
export class Hearing {
  readonly context: RuleContext;
  readonly subject: WriteSubject;
  readonly #answers: AuthorizerAnswers;

  constructor(
    context: RuleContext,
    attributes: AdmissionAttributes,
    served: ServedResource,
    signal: AbortSignal,
  ) {
    this.context = context;
    this.subject = new WriteSubject(attributes, served, context.view);
    this.#answers = new AuthorizerAnswers(context.ask, attributes.user, signal);
  }

  /** Of the variables that all rules have. */
  bindings(resource: ServedResource): Record<string, unknown> {
    const request = () => requestOf(this.subject, resource, this.context.naming);
    return bindingsOf(this.subject, resource, request, this.#answers.value);
  }

  /** Measured. Ends by a throw where an answer of the authorizer is not there yet. */
  judgeConditions(
    conditions: readonly Condition[],
    bindings: Readonly<Record<string, unknown>>,
    rule: Omit<ConditionsOf, "operation">,
  ): ConditionsVerdict {
    const { metrics, nowMs } = this.context;
    const { operation } = this.subject.attributes;
    const startMs = nowMs();
    const verdict = evaluateConditions(conditions, bindings);
    metrics.conditionsEvaluated({ ...rule, operation }, verdict, (nowMs() - startMs) / 1000);
    return verdict;
  }

  refuse(why: string): StatusError {
    const { served, name } = this.subject;
    return forbidden(served, name || "Unknown", why);
  }

  explain(finding: RuleFinding): void {
    this.subject.attributes.explain?.(finding);
  }
}
