/**
 * Traces of requests: the outer step begins one and ends it with the answer; the inner one, behind
 * authentication, decides by the user whether it is exported. A request that is not sampled only records its
 * waits, for the log of slow requests. Each step is in the chain only if it is enabled.
 */
import type { Span } from "../../storage/base/trace.js";
import { isLongRunning } from "../request/request-info.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import { shownUri } from "../request/shown-uri.js";
import { bracket, gate, type RequestStep } from "../request/step.js";
import { RequestTrace } from "../tracing/request-trace.js";
import type { Arrival, RequestTracer, TracedRequest } from "../tracing/request-tracer.js";
import { describeSteps, type SlowRequests } from "../tracing/slow-requests.js";
import type { EndNote } from "./request-end.js";
import { isAnswerOver, onResponseEnd } from "./response-end.js";

/** Undefined = disabled. */
export interface TracingSteps {
  /** Outermost: requests that may be sampled. */
  readonly outer?: RequestStep;
  /** Behind authentication. */
  readonly inner?: RequestStep;
  /** Records the waits of all other requests. */
  readonly waits?: RequestStep;
  /** Logs slow requests. */
  readonly slow?: EndNote;
}

export function createTracingSteps(tracer: RequestTracer): TracingSteps {
  const sampled = new WeakMap<RequestState, TracedRequest>();
  return {
    outer: bracket(
      (ctx) => {
        const request = startTrace(ctx, tracer);
        if (request === undefined) return undefined;
        sampled.set(ctx.state, request);
        ctx.state.trace = request.trace;
        return undefined;
      },
      (ctx, failure) => {
        const request = sampled.get(ctx.state);
        if (failure === undefined && request !== undefined) endWithAnswer(ctx, request);
        return failure;
      },
    ),
    inner: gate(({ state }) => {
      if (state.trace?.isDetailed === true) sampled.get(state)?.identify(state.user);
    }),
  };
}

export function createSlowRequestSteps(slowRequests: SlowRequests): TracingSteps {
  const { thresholdMs } = slowRequests;
  return {
    waits: gate(({ state }) => {
      state.trace ??= new RequestTrace(false);
    }),
    slow(ctx, durationMs) {
      if (durationMs < thresholdMs) return;
      const { infoIfKnown } = ctx.state;
      if (infoIfKnown !== undefined && isLongRunning(infoIfKnown)) return;
      slowRequests.log(durationMs, describe(ctx));
    },
  };
}

function endWithAnswer(ctx: RequestContext, request: TracedRequest): void {
  const { trace } = request;
  const writing: Span | undefined = isAnswerOver(ctx) ? undefined : trace.begin("write response");
  onResponseEnd(ctx, () => {
    writing?.end();
    request.end({ info: ctx.state.infoIfKnown, code: codeOf(ctx) });
  });
}

function startTrace(ctx: RequestContext, tracer: RequestTracer): TracedRequest | undefined {
  const { traceparent } = ctx.req.headers;
  const sent = typeof traceparent === "string" ? traceparent : undefined;
  return tracer.start(sent, () => arrivalOf(ctx, sent));
}

function arrivalOf(ctx: RequestContext, traceparent: string | undefined): Arrival {
  const { state } = ctx;
  return {
    method: ctx.method,
    // It has names, but nothing of the query.
    path: shownUri(ctx.originalUrl).split("?", 1)[0] ?? "",
    auditId: state.auditId,
    userAgent: ctx.headers["user-agent"] ?? "",
    traceparent,
    receivedAtMs: state.receivedAtMs,
  };
}

function describe(ctx: RequestContext) {
  const { state } = ctx;
  const { trace } = state;
  return {
    verb: (state.infoIfKnown?.verb || ctx.method).toUpperCase(),
    URI: shownUri(ctx.originalUrl),
    "audit-ID": state.auditId,
    user: state.userIfKnown?.name ?? "",
    resp: codeOf(ctx),
    ...(trace?.traceId !== undefined && { traceID: trace.traceId }),
    steps: describeSteps(trace instanceof RequestTrace ? trace.steps : [], state.receivedAtMs),
  };
}

function codeOf(ctx: RequestContext): number {
  return ctx.respond === false ? ctx.res.statusCode : ctx.status;
}
