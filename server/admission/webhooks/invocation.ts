/**
 * Invocation: decides whether a webhook matches a write and calls it, with everything that both kinds
 * of webhooks share: dry runs, metrics, warnings and audit annotations.
 */
import { badRequest, StatusError } from "../../api/status.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import { whenAnswered } from "../matching/authorizer-answers.js";
import { ConditionsRun } from "../matching/conditions.js";
import { type Candidate, match } from "../matching/criteria-index.js";
import type { AdmissionStep, RuleMatcher } from "../matching/rule-context.js";
import { CallFailure, refusalOf } from "./failures.js";
import type { Hook } from "./hook.js";
import type { Answered, WebhookCaller } from "./webhook-caller.js";

/** A webhook call to make. */
export interface Invocation {
  readonly hook: Hook;
  /** The version of the objects that the webhook wants. */
  readonly resource: ServedResource;
}

/** The calling plugin. */
export interface Asker {
  readonly plugin: string;
  readonly step: AdmissionStep;
}

/** One call by the plugin. */
export interface Asking extends Asker {
  /** The call's position for the audit record: "round_0_index_1". */
  readonly place: string;
}

/** undefined = the webhook does not match the write. @throws {StatusError} 403, 404 */
export function invocationOf(
  matcher: RuleMatcher,
  candidate: Candidate<Hook>,
  asker: Asker,
): Invocation | undefined | Promise<Invocation | undefined> {
  const hook = candidate.value;
  const found = match(candidate, matcher.subject);
  if ("mismatch" in found) {
    skip(matcher, hook, asker, `not about this write by its ${found.mismatch}`);
    return undefined;
  }
  const { resource } = found;
  if (hook.conditions.length === 0) return { hook, resource };
  const conditions = new ConditionsRun(hook.conditions, matcher.bindings(resource));
  return whenAnswered(() => {
    const rule = { name: hook.name, kind: "webhook", step: asker.step } as const;
    const result = matcher.judgeConditions(conditions, rule);
    if (result.matches === true) return { hook, resource };
    if (result.matches === "unknown" && !hook.ignoresFailures) {
      throw matcher.refuse(result.error.message);
    }
    const why =
      result.matches === false
        ? `match condition ${JSON.stringify(result.failed)} is false`
        : result.error.message;
    skip(matcher, hook, asker, why);
    return undefined;
  });
}

function skip(matcher: RuleMatcher, hook: Hook, { plugin }: Asker, why: string): void {
  const { configuration, name } = hook;
  matcher.explain({
    plugin,
    configuration,
    rule: name,
    outcome: "skipped",
    why,
    milliseconds: 0,
  });
}

/** The result of a call; undefined = it failed and the failure is ignored. */
export type Asked = Answered | undefined;

/**
 * @param use applies an answer that allows the write. @throws {CallFailure, StatusError}
 * @throws {StatusError} if the webhook refused, or failed and the failure policy is Fail
 */
export async function askWebhook(
  matcher: RuleMatcher,
  caller: WebhookCaller,
  { hook, resource }: Invocation,
  asker: Asking,
  signal: AbortSignal,
  use: (answered: Answered) => void = () => {},
): Promise<Asked> {
  const { subject, context } = matcher;
  const { attributes } = subject;
  const { metrics, nowMs } = context;
  const { name, configuration } = hook;
  const { operation } = attributes;
  const { step, plugin, place } = asker;
  const startMs = nowMs();
  const ended = (
    outcome: "allowed" | "refused" | "failed",
    code: number,
    why: string,
    error?: "calling_webhook_error" | "apiserver_internal_error" | "no_error" | "canceled",
  ) => {
    const milliseconds = nowMs() - startMs;
    const isRejected = error !== undefined;
    const seconds = milliseconds / 1000;
    metrics.webhookAsked({ name, step, operation, isRejected, code, seconds });
    if (error !== undefined && error !== "canceled") {
      metrics.webhookRefused({ name, step, operation, error, code });
    }
    matcher.explain({ plugin, configuration, rule: name, outcome, why, milliseconds });
  };
  if (attributes.options.isDryRun && !hook.hasNoSideEffects) {
    const refusal = badRequest(
      `admission webhook ${JSON.stringify(name)} does not support dry run`,
    );
    ended("refused", 0, refusal.message, "apiserver_internal_error");
    throw refusal;
  }
  try {
    const answered = await caller.call(hook, subject, resource, step === "admit", signal);
    const { answer } = answered;
    for (const [key, value] of Object.entries(answer.auditAnnotations)) {
      const annotation = `${name}/${key}`;
      // As kube-apiserver, one with a key that is none is left out.
      if (checkQualifiedName(annotation).length === 0) attributes.annotate?.(annotation, value);
    }
    for (const warning of answer.warnings) attributes.warn(warning);
    if (!answer.isAllowed) throw new Refusal(refusalOf(name, answer.result));
    use(answered);
    ended("allowed", 200, "");
    return answered;
  } catch (error) {
    if (error instanceof Refusal) {
      const { status } = error;
      ended("refused", status.code, status.message, "no_error");
      throw status;
    }
    if (!(error instanceof CallFailure)) {
      ended("failed", 0, (error as Error).message, "apiserver_internal_error");
      throw error;
    }
    const { code, message, isCanceled } = error;
    if (hook.ignoresFailures && !signal.aborted) {
      ended("failed", code, message);
      metrics.webhookFailedOpen(name, step);
      annotateFailure(matcher, hook, step, place);
      return undefined;
    }
    ended("failed", code, message, isCanceled ? "canceled" : "calling_webhook_error");
    // The request's own time is over, which is no fault of the webhook.
    throw isCanceled && signal.reason instanceof StatusError ? signal.reason : error.toStatus();
  }
}

/** The webhook said no. */
class Refusal extends Error {
  readonly status: StatusError;

  constructor(status: StatusError) {
    super(status.message);
    this.status = status;
  }
}

function annotateFailure(
  { subject, context }: RuleMatcher,
  { name }: Hook,
  step: AdmissionStep,
  place: string,
): void {
  const phase = step === "admit" ? "mutation" : "validating";
  const key = `failed-open.${phase}.webhook.admission.${context.naming.groupDomain}/${place}`;
  subject.attributes.annotate?.(key, name);
}
