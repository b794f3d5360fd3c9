/**
 * RequestTracer: decides of each request whether its steps are exported.
 *
 *   not sampled                            nothing is recorded here
 *   sampled by this server's own rate      spans, from its first moment
 *   the client sent a traceparent          undecided until the sender is known: members of the privileged and
 *                                          monitoring groups decide for us; all others begin a trace of their
 *                                          own, by our rate, which links to theirs
 */
import {
  type Attributes,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace as traceApi,
} from "@opentelemetry/api";
import { StatusError } from "../api/status.js";
import type { RequestInfo } from "../request/request-info.js";
import { MASTERS_GROUP, type UserInfo } from "../request/user-info.js";
import { RequestTrace } from "./request-trace.js";
import { parseTraceparent } from "./trace-context.js";

/** The group whose requests may decide that they are sampled, besides the privileged group. */
const MONITORING_GROUP = "system:monitoring";
const PER_MILLION = 1_000_000;
const SERVER_ERROR = 500;

export interface RequestTracerOptions {
  readonly tracer: Tracer;
  readonly samplingRatePerMillion: number;
  readonly random?: () => number;
}

/** The facts of a request at its start. */
export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly auditId: string;
  readonly userAgent: string;
  readonly traceparent: string | undefined;
  /** Monotonic milliseconds. */
  readonly receivedAtMs: number;
}

/** The facts of a request at its end. */
export interface Ending {
  readonly info: RequestInfo | undefined;
  readonly code: number;
}

/** One request; what a step needs of it is its `trace`. */
export class TracedRequest {
  readonly trace: RequestTrace;
  readonly #arrival: Arrival;
  readonly #remote: SpanContext | undefined;
  readonly #isOwnChoice: boolean;
  readonly #tracer: Tracer;
  #isUndecided: boolean;

  constructor(
    arrival: Arrival,
    choice: {
      readonly tracer: Tracer;
      readonly remote: SpanContext | undefined;
      readonly isOwnChoice: boolean;
    },
  ) {
    this.#arrival = arrival;
    this.#remote = choice.remote;
    this.#isOwnChoice = choice.isOwnChoice;
    this.#tracer = choice.tracer;
    this.#isUndecided = choice.remote !== undefined;
    this.trace = new RequestTrace(this.#isUndecided);
    if (!this.#isUndecided) this.#start(undefined);
  }

  /** The sender is authenticated now; undefined = nobody vouches for the sender. */
  identify(user: UserInfo | undefined): void {
    if (!this.#isUndecided) return;
    this.#isUndecided = false;
    const isTrusted = user?.groups.some((g) => g === MASTERS_GROUP || g === MONITORING_GROUP);
    if (isTrusted === true) {
      const isSampled = ((this.#remote?.traceFlags ?? 0) & TraceFlags.SAMPLED) !== 0;
      if (isSampled) this.#start(this.#remote);
      else this.trace.decide(undefined, this.#arrival.traceparent);
    } else if (this.#isOwnChoice) this.#start(undefined);
    else this.trace.decide(undefined);
  }

  end({ info, code }: Ending): void {
    this.identify(undefined);
    const { sampled } = this.trace;
    if (sampled === undefined) return;
    const { root, epochOffsetMs } = sampled;
    root.updateName(spanNameOf(this.#arrival.method, info));
    root.setAttribute("http.response.status_code", code);
    if (code >= SERVER_ERROR) root.setStatus({ code: SpanStatusCode.ERROR });
    root.end(performance.now() + epochOffsetMs);
  }

  #start(parent: SpanContext | undefined): void {
    const tracer = this.#tracer;
    const { method, path, auditId, userAgent, receivedAtMs } = this.#arrival;
    const epochOffsetMs = Date.now() - performance.now();
    const attributes: Attributes = {
      "http.request.method": method,
      "url.path": path,
      "user_agent.original": userAgent,
      "audit-id": auditId,
    };
    const context =
      parent === undefined ? ROOT_CONTEXT : traceApi.setSpanContext(ROOT_CONTEXT, parent);
    const isLinked = parent === undefined && this.#remote !== undefined;
    const root = tracer.startSpan(
      method,
      {
        kind: SpanKind.SERVER,
        attributes,
        startTime: receivedAtMs + epochOffsetMs,
        ...(isLinked && { links: [{ context: this.#remote as SpanContext }] }),
      },
      context,
    );
    this.trace.decide({ tracer, root, epochOffsetMs, describeFailure });
  }
}

export class RequestTracer {
  readonly #options: RequestTracerOptions;
  readonly #random: () => number;

  constructor(options: RequestTracerOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /**
   * @param arrive says what else there is to know, where it is needed
   * @returns undefined for a request that is not sampled, whoever sent it
   */
  start(
    traceparent: string | undefined,
    arrive: (traceparent: string | undefined) => Arrival,
  ): TracedRequest | undefined {
    const { tracer, samplingRatePerMillion } = this.#options;
    const isOwnChoice =
      samplingRatePerMillion > 0 && this.#random() * PER_MILLION < samplingRatePerMillion;
    const remote = parseTraceparent(traceparent);
    if (!isOwnChoice && remote === undefined) return undefined;
    return new TracedRequest(arrive(traceparent), { tracer, remote, isOwnChoice });
  }
}

/** As kube-apiserver names them: with the places of names, and not the names. */
function spanNameOf(method: string, info: RequestInfo | undefined): string {
  if (info === undefined || !info.isResourceRequest) return method;
  const { apiPrefix, group, version, namespace, resource, name, subresource } = info;
  const parts = ["", apiPrefix, ...(group === "" ? [] : [group]), version];
  if (namespace !== "") parts.push("namespaces", "{:namespace}");
  parts.push(resource);
  if (name !== "") parts.push("{:name}");
  if (subresource !== "") parts.push(subresource);
  return `${method} ${parts.join("/")}`;
}

/** Messages may quote what was sent, so only what kind of failure it was is told. */
function describeFailure(failure: unknown): string {
  if (failure instanceof StatusError) return `${failure.code} ${failure.reason ?? ""}`.trim();
  return failure instanceof Error ? failure.name : "failed";
}
