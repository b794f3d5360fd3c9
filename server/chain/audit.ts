/**
 * Audit records of a request: on receipt, when a long-running answer begins, at its end, and when a
 * defect ended it. The outer step encloses everything that may refuse, so that refusals are recorded
 * as well. The inner one runs after authentication, as the policy depends on the user.
 */
import { internalError } from "../api/status.js";
import type { AuditedRequest } from "../audit/audit-event.js";
import type { AuditRecorder } from "../audit/audit-recorder.js";
import type { AuditRule, AuditStage } from "../audit/policy.js";
import { AuditCapture } from "../request/audit-capture.js";
import { isLongRunning } from "../request/request-info.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import { bracket, gate, passAll, type RequestStep } from "../request/step.js";
import { latencyNotes } from "./latency-notes.js";
import { isAnswerOver, onResponseEnd } from "./response-end.js";

type Recorder = Pick<AuditRecorder, "naming" | "ruleFor" | "record" | "isStrict" | "noteRejected">;

export interface AuditSteps {
  /** Outermost: records the request's result. */
  readonly outer: RequestStep;
  /** After authentication: determines the audit rule once, and records the receipt. */
  readonly inner: RequestStep;
}

export function createAuditSteps(recorder: Recorder): AuditSteps {
  /** Rules of authenticated requests; "none" = not recorded. */
  const rules = new WeakMap<RequestState, AuditRule | "none">();
  const record = (ctx: RequestContext, stage: AuditStage) => {
    const { state } = ctx;
    let rule = rules.get(state);
    if (rule === undefined) {
      // An unauthenticated request has no rule yet: the policy is applied without a user.
      rule = recorder.ruleFor(undefined, state.infoIfKnown) ?? "none";
      rules.set(state, rule);
    }
    if (rule === "none") return;
    if (stage === "ResponseComplete" && state.audit !== undefined && !isLasting(state)) {
      const notes = latencyNotes(recorder.naming, state, performance.now());
      for (const [key, value] of Object.entries(notes ?? {})) {
        state.audit.annotations.set(key, value);
      }
    }
    // An answer does not wait for its audit records.
    void recorder.record(rule, stage, describe(ctx), state.audit ?? refusalOf(state, rule));
  };
  return {
    outer: bracket(passAll, (ctx, failure) => {
      if (failure !== undefined) return failure;
      const { hasDefect } = ctx.state;
      if (hasDefect) record(ctx, "Panic");
      // Who was not let in is recorded once, when the refusal begins, as kube-apiserver does.
      const last = rules.has(ctx.state) ? "ResponseComplete" : "ResponseStarted";
      // What was to last has a beginning even if it is refused, and a defect has none of its own.
      const hasBeginning = isLasting(ctx.state) && !(hasDefect && isAnswerOver(ctx));
      if (last === "ResponseComplete" && hasBeginning) {
        record(ctx, "ResponseStarted");
      }
      if (!hasDefect) onResponseEnd(ctx, () => record(ctx, last));
      return undefined;
    }),
    inner: gate((ctx) => {
      const { state } = ctx;
      const rule = recorder.ruleFor(state.user, state.info);
      rules.set(state, rule ?? "none");
      if (rule === undefined) return undefined;
      const response = rule.level === "RequestResponse";
      const request = response || rule.level === "Request";
      state.audit = new AuditCapture({ request, response }, state.credentialNotes);
      const recording = recorder.record(rule, "RequestReceived", describe(ctx), undefined);
      return recording && waitUntilRecorded(state, recording, recorder);
    }),
  };
}

function isLasting({ infoIfKnown }: RequestState): boolean {
  return infoIfKnown !== undefined && isLongRunning(infoIfKnown);
}

/** The answer to who was not let in, for whom nothing was captured. */
function refusalOf({ failure }: RequestState, { level }: AuditRule): AuditCapture | undefined {
  if (level !== "RequestResponse" || failure === undefined) return undefined;
  const capture = new AuditCapture({ request: true, response: true });
  capture.takeResponse(() => JSON.stringify(failure));
  return capture;
}

async function waitUntilRecorded(
  { trace }: RequestState,
  recording: Promise<boolean>,
  recorder: Recorder,
): Promise<void> {
  const span = trace?.begin("audit");
  const isRecorded = await recording;
  span?.end();
  if (isRecorded || !recorder.isStrict) return;
  recorder.noteRejected();
  throw internalError("failed to store audit event");
}

function describe(ctx: RequestContext): AuditedRequest {
  const { state } = ctx;
  const now = performance.timeOrigin + performance.now();
  const user = state.userIfKnown;
  return {
    auditId: state.auditId,
    info: state.infoIfKnown,
    createdName: state.createdName,
    sent: state.audit?.sent,
    uri: ctx.originalUrl,
    method: ctx.method,
    user: state.impersonator ?? user,
    impersonated: state.impersonator === undefined ? undefined : user,
    impersonationConstraint: state.impersonationConstraint,
    remoteAddress: ctx.req.socket?.remoteAddress ?? "",
    forwardedFor: String(ctx.headers["x-forwarded-for"] ?? ""),
    realIp: String(ctx.headers["x-real-ip"] ?? ""),
    userAgent: ctx.headers["user-agent"] ?? "",
    code: ctx.respond === false ? ctx.res.statusCode : ctx.status,
    outcome: state.failure ?? state.audit?.outcome,
    reason: state.authorizationReason,
    isAllowed: state.isAuthorized,
    deprecation: state.deprecation,
    annotations: state.audit?.annotations,
    receivedAtMs: performance.timeOrigin + state.receivedAtMs,
    stageAtMs: now,
  };
}
