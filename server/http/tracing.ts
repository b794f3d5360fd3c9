/**
 * Traces of requests: the outer step begins one and ends it with the answer; the inner one, behind
 * authentication, lets those who may decide whether it is exported. Of a request that is not sampled only what
 * it waits for is kept, for the log of slow requests, or nothing where there is none.
 */
import type { Span } from "../../storage/base/trace.js";
import { isLongRunning } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware, RequestState } from "../request/request-state.js";
import { shownUri } from "../request/shown-uri.js";
import { RequestTrace } from "../tracing/request-trace.js";
import type { Arrival, RequestTracer, TracedRequest } from "../tracing/request-tracer.js";
import { describeSteps, type SlowRequests } from "../tracing/slow-requests.js";
import { onResponseEnd } from "./response-end.js";

export interface TracingParts {
  /** Undefined = nothing is exported. */
  readonly tracer: RequestTracer | undefined;
  /** Undefined = slow requests are not logged. */
  readonly slowRequests: SlowRequests | undefined;
}

export interface TracingSteps {
  readonly outer: RequestMiddleware;
  readonly inner: RequestMiddleware;
}

export function createTracingSteps({ tracer, slowRequests }: TracingParts): TracingSteps {
  const sampled = new WeakMap<RequestState, TracedRequest>();
  return {
    outer(ctx, next) {
      const request = tracer === undefined ? undefined : startTrace(ctx, tracer);
      if (request !== undefined) {
        sampled.set(ctx.state, request);
        return traced(ctx, request, next);
      }
      if (slowRequests === undefined) return next();
      const trace = new RequestTrace(false);
      ctx.state.trace = trace;
      return next().then(() => onResponseEnd(ctx, () => noteIfSlow(ctx, trace)));
    },
    inner(ctx, next) {
      const { state } = ctx;
      if (state.trace?.isDetailed === true) sampled.get(state)?.identify(state.user);
      return next();
    },
  };

  async function traced(
    ctx: RequestContext,
    request: TracedRequest,
    next: () => Promise<void>,
  ): Promise<void> {
    const { trace } = request;
    ctx.state.trace = trace;
    await next();
    const isOpen = ctx.respond === false && !ctx.res.writableEnded && !ctx.res.closed;
    const writing: Span | undefined = isOpen ? trace.begin("write response") : undefined;
    onResponseEnd(ctx, () => {
      writing?.end();
      request.end({ info: ctx.state.infoIfKnown, code: codeOf(ctx) });
      noteIfSlow(ctx, trace);
    });
  }

  function noteIfSlow(ctx: RequestContext, trace: RequestTrace): void {
    const { receivedAtMs, infoIfKnown } = ctx.state;
    const durationMs = performance.now() - receivedAtMs;
    if (slowRequests === undefined || durationMs < slowRequests.thresholdMs) return;
    if (infoIfKnown !== undefined && isLongRunning(infoIfKnown)) return;
    slowRequests.log(durationMs, describe(ctx, trace));
  }
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
    // Names are in it, but nothing of the query.
    path: shownUri(ctx.req.url ?? "").split("?", 1)[0] ?? "",
    auditId: state.auditId,
    userAgent: ctx.headers["user-agent"] ?? "",
    traceparent,
    receivedAtMs: state.receivedAtMs,
  };
}

function describe(ctx: RequestContext, trace: RequestTrace) {
  const { state, req } = ctx;
  return {
    verb: (state.infoIfKnown?.verb || ctx.method).toUpperCase(),
    URI: shownUri(req.url ?? ""),
    "audit-ID": state.auditId,
    user: state.userIfKnown?.name ?? "",
    resp: codeOf(ctx),
    ...(trace.traceId !== undefined && { traceID: trace.traceId }),
    steps: describeSteps(trace.steps, state.receivedAtMs),
  };
}

function codeOf(ctx: RequestContext): number {
  return ctx.respond === false ? ctx.res.statusCode : ctx.status;
}
