/**
 * The path of every request: its steps in the order of execution, with the reason for each position
 * that matters, and who may answer. The steps are in the small files beside this one; wiring passes
 * their dependencies and the handler.
 */

import type { Logger } from "../../storage/base/logger.js";
import type { Authenticator } from "../authn/authenticator.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { AccessMetrics } from "../metrics/access-metrics.js";
import type { Metrics } from "../metrics/metrics.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestMiddleware } from "../request/request-state.js";
import type { RequestStep } from "../request/step.js";
import type { TurnWatch } from "../request/turn-watch.js";
import type { Verbosity } from "../request/verbosity.js";
import { accessLog } from "./access-log.js";
import type { AuditSteps } from "./audit.js";
import { withAuthentication } from "./authentication.js";
import { withAuthorization } from "./authorization.js";
import type { RequestChain } from "./compose-chain.js";
import { withDeadline } from "./deadline.js";
import { type InFlightLimits, withInFlightLimit } from "./in-flight.js";
import { withRecovery } from "./recovery.js";
import { withLongRunningCount, withRequestEnd } from "./request-end.js";
import { withRequestInfo } from "./request-facts.js";
import { withRequestState } from "./request-start.js";
import type { StatusEncoder } from "./status-response.js";
import type { TracingSteps } from "./tracing.js";

export interface RequestChainParts {
  readonly logger: Logger;
  /** Whether every request is logged now. */
  readonly verbosity: Pick<Verbosity, "logsRequests">;
  readonly metrics: Metrics;
  readonly access: AccessMetrics;
  readonly encodeStatus: StatusEncoder;
  readonly authenticator: Authenticator;
  /** Headers that state the sender's identity; removed after authentication. */
  readonly isIdentityHeader?: (name: string) => boolean;
  readonly authorizer: Authorizer;
  readonly inFlightLimits: InFlightLimits;
  readonly requestTimeoutMs: number;
  /** Whether this request's labels may be used in metrics: its resource exists. */
  readonly isServed: (info: RequestInfo) => boolean;
  /** Audit records; absent = none. */
  readonly audit?: AuditSteps | undefined;
  /** Sees which requests hold the thread; absent = nobody does. */
  readonly turnWatch?: TurnWatch | undefined;
  /** Traces of requests; absent = none. */
  readonly tracing?: TracingSteps | undefined;
  /** Steps of other parts that see the answers of all requests, also of refused ones. */
  readonly outer?: readonly RequestStep[];
  /** Steps of other parts: the freshness barrier. */
  readonly beforeAuthentication?: readonly RequestStep[];
  /** Steps of other parts: impersonation, flow control. */
  readonly beforeAuthorization?: readonly RequestStep[];
  /** Of other parts: requests that other servers answer. */
  readonly beforeRoutes?: readonly RequestMiddleware[];
  /** Non-resource paths (see routes.ts); passes on unknown ones. */
  readonly routes: RequestMiddleware;
  /** The resources' verbs. */
  readonly handler: RequestMiddleware;
}

export function requestChain(parts: RequestChainParts): RequestChain {
  const { logger, metrics, isServed, verbosity, tracing = {} } = parts;
  const logRequest = accessLog({ logger, verbosity });
  const steps = [
    // First, as all other steps write into the state: audit id, signal, warnings.
    withRequestState(parts.turnWatch),
    ...(tracing.outer === undefined ? [] : [tracing.outer]),
    // Outside of recovery, so that both see the client's status code, even for a 500.
    ...(parts.audit === undefined ? [] : [parts.audit.outer]),
    ...(parts.outer ?? []),
    withRequestEnd({
      metrics,
      isServed,
      notes: tracing.slow === undefined ? [logRequest] : [logRequest, tracing.slow],
    }),
    // Everything below may throw.
    withRecovery({ logger, metrics, encodeStatus: parts.encodeStatus }),
    withRequestInfo(),
    ...(tracing.waits === undefined ? [] : [tracing.waits]),
    // Before anything that can wait: authentication and authorization may ask other servers.
    withDeadline({ requestTimeoutMs: parts.requestTimeoutMs }),
    ...(parts.beforeAuthentication ?? []),
    withAuthentication(parts.authenticator, parts.access, parts.isIdentityHeader),
    // After authentication, as the user decides whether the trace may be exported.
    ...(tracing.inner === undefined ? [] : [tracing.inner]),
    ...(parts.audit === undefined ? [] : [parts.audit.inner]),
    ...(parts.beforeAuthorization ?? []),
    // After impersonation, as the acting user may be exempt, and before the actual work.
    withInFlightLimit(parts.inFlightLimits, metrics),
    withAuthorization(parts.authorizer, parts.access),
    // Only admitted requests count as open.
    withLongRunningCount(metrics),
  ];
  return { steps, answerers: [...(parts.beforeRoutes ?? []), parts.routes, parts.handler] };
}
