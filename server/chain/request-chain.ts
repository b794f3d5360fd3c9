/**
 * What happens to every request: all steps in the order of execution, then those who may answer it. Where the order
 * matters the reason stands beside the step; docs/dev/architecture.md shows the same lists. A step that a server does
 * not have is left out. The steps are in the small files beside this one, or come with the parts of other folders.
 */

import type { Logger } from "../../storage/base/logger.js";
import type { Naming } from "../api/naming.js";
import type { Authenticator } from "../authn/authenticator.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { Impersonation } from "../authz/impersonation.js";
import type { AccessMetrics } from "../metrics/access-metrics.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Barrier } from "../request/reach-now.js";
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
import { withFreshCredentials, withFreshPolicy } from "./freshness.js";
import { withImpersonation } from "./impersonation.js";
import { type InFlightLimits, withInFlightLimit } from "./in-flight.js";
import { withRecovery } from "./recovery.js";
import { withLongRunningCount, withRequestEnd } from "./request-end.js";
import { withRequestInfo } from "./request-facts.js";
import { withRequestState } from "./request-start.js";
import { withSending } from "./sending.js";
import type { StatusEncoder } from "./status-response.js";
import type { TracingSteps } from "./tracing.js";
import { withWebSocketBearer } from "./web-socket-bearer.js";

/** Absent parts that may be absent leave out their steps. */
export interface RequestChainParts {
  readonly logger: Logger;
  readonly naming: Naming;
  /** Whether every request is logged now. */
  readonly verbosity: Pick<Verbosity, "logsRequests">;
  readonly metrics: Metrics;
  readonly access: AccessMetrics;
  readonly encodeStatus: StatusEncoder;
  readonly authenticator: Authenticator;
  /** Headers that state the sender's identity; removed after authentication. */
  readonly isIdentityHeader?: (name: string) => boolean;
  readonly impersonation?: Impersonation | undefined;
  readonly authorizer: Authorizer;
  readonly inFlightLimits: InFlightLimits;
  readonly requestTimeoutMs: number;
  /** Whether this request's labels may be used in metrics: its resource exists. */
  readonly isServed: (info: RequestInfo) => boolean;
  readonly freshness?: Barrier | undefined;
  readonly audit?: AuditSteps | undefined;
  readonly tracing?: TracingSteps | undefined;
  /** Sees which requests hold the thread. */
  readonly turnWatch?: TurnWatch | undefined;
  readonly shutdownRefusal?: RequestStep | undefined;
  /** Counts and bounds the requests of one control plane. */
  readonly usage?: UsageSteps | undefined;
  /** Refuses users who have no business in a control plane. */
  readonly entrance?: RequestStep | undefined;
  readonly answerMemory?: RequestStep | undefined;
  readonly flowControl?: RequestStep | undefined;
  /** Of servers of tests. */
  readonly testApi?: OfOtherFolder | undefined;
  readonly recorder?: OfOtherFolder | undefined;
  /** Of the root: kubeconfigs of its control planes. */
  readonly beside?: readonly RequestMiddleware[] | undefined;
  /** Requests that other servers answer. */
  readonly aggregation?: RequestMiddleware | undefined;
  /** Non-resource paths (see http/routes.ts); passes on unknown ones. */
  readonly routes: RequestMiddleware;
  /** The resources' verbs. */
  readonly handler: RequestMiddleware;
}

export interface UsageSteps {
  /** Notes that a request is open. */
  readonly opening: RequestStep;
  /** Refuses what is over the limits. */
  readonly limiting: RequestStep;
}

/** Something that sees every request twice and has paths of its own. */
export interface OfOtherFolder {
  /** Sees all answers, also of refused requests. */
  readonly outer: RequestStep;
  /** Behind authentication. */
  readonly inner: RequestStep;
  readonly middlewares: readonly RequestMiddleware[];
}

/** One line of the list. */
export interface Named<T> {
  readonly name: string;
  /** Of its position; absent where it does not matter. */
  readonly why?: string;
  readonly make: (parts: RequestChainParts) => T | undefined;
}

/** A request passes them in this order, and leaves them in the reverse one. */
export const STEPS: readonly Named<RequestStep>[] = [
  {
    name: "sending",
    why: "First: it sends what all others have made of the answer.",
    make: ({ logger }) => withSending(logger),
  },
  {
    name: "state",
    why: "Before all steps that write into the state.",
    make: ({ turnWatch }) => withRequestState(turnWatch),
  },
  { name: "trace", make: ({ tracing }) => tracing?.outer },
  {
    name: "audit of the answer",
    why: "Outside of recovery, so that it sees the client's status code, even for a 500.",
    make: ({ audit }) => audit?.outer,
  },
  {
    name: "test API: answers",
    why: "Outside of recovery, as above.",
    make: ({ testApi }) => testApi?.outer,
  },
  {
    name: "recorder: answers",
    why: "Outside of recovery, as above.",
    make: ({ recorder }) => recorder?.outer,
  },
  {
    name: "metrics and log lines of the end",
    why: "Outside of recovery, as above.",
    make({ logger, verbosity, metrics, isServed, tracing }) {
      const log = accessLog({ logger, verbosity });
      const notes = tracing?.slow === undefined ? [log] : [log, tracing.slow];
      return withRequestEnd({ metrics, isServed, notes });
    },
  },
  {
    name: "recovery",
    why: "Outside of all steps that may refuse: it answers with what they throw.",
    make: ({ logger, metrics, encodeStatus }) => withRecovery({ logger, metrics, encodeStatus }),
  },
  { name: "request info", why: "Before all steps that read it.", make: () => withRequestInfo() },
  { name: "waits of slow requests", make: ({ tracing }) => tracing?.waits },
  {
    name: "deadline",
    why: "Before anything that can wait: authentication and authorization may ask other servers.",
    make: ({ requestTimeoutMs }) => withDeadline({ requestTimeoutMs }),
  },
  {
    name: "refusal at shutdown",
    why: "Before anything is looked up for a request that is refused anyway.",
    make: ({ shutdownRefusal }) => shutdownRefusal,
  },
  {
    name: "usage of a control plane",
    why: "Before anything that can wait: while a request is open nothing of its control plane is let go.",
    make: ({ usage }) => usage?.opening,
  },
  {
    name: "bearer tokens of WebSockets",
    why: "Before all steps that read the Authorization header.",
    make: ({ naming }) => withWebSocketBearer(naming),
  },
  {
    name: "fresh credentials",
    why: "Before authentication: a token that was revoked before the request has no effect.",
    make: ({ freshness }) => freshness && withFreshCredentials(freshness),
  },
  {
    name: "authentication",
    make: ({ authenticator, access, isIdentityHeader }) =>
      withAuthentication(authenticator, access, isIdentityHeader),
  },
  {
    name: "export of the trace",
    why: "After authentication, as the user decides whether the trace may be exported.",
    make: ({ tracing }) => tracing?.inner,
  },
  {
    name: "audit of the receipt",
    why: "After authentication, as the policy depends on the user; before impersonation, which it records.",
    make: ({ audit }) => audit?.inner,
  },
  {
    name: "recorder: user",
    why: "After authentication and before impersonation.",
    make: ({ recorder }) => recorder?.inner,
  },
  {
    name: "test API: user",
    why: "After authentication and before impersonation.",
    make: ({ testApi }) => testApi?.inner,
  },
  {
    name: "fresh policy",
    why: "Before impersonation and authorization: both read roles and bindings.",
    make: ({ freshness }) => freshness && withFreshPolicy(freshness),
  },
  {
    name: "entrance to a control plane",
    why: "After the fresh policy, as bindings say who may come in; before anything tells of the inside.",
    make: ({ entrance }) => entrance,
  },
  {
    name: "limits of a control plane",
    why: "After the entrance, so that nobody else uses them up, or learns of them.",
    make: ({ usage }) => usage?.limiting,
  },
  {
    name: "impersonation",
    why: "Before everything that depends on the acting user.",
    make: ({ impersonation }) => impersonation && withImpersonation(impersonation),
  },
  {
    name: "memory for answers",
    why: "Before flow control, so that no seat is held while waiting for memory.",
    make: ({ answerMemory }) => answerMemory,
  },
  {
    name: "flow control",
    why: "After impersonation, as the acting user determines the flow; before authorization, which may be costly.",
    make: ({ flowControl }) => flowControl,
  },
  {
    name: "limit of requests in flight",
    why: "After impersonation, as the acting user may be exempt.",
    make: ({ inFlightLimits, metrics }) => withInFlightLimit(inFlightLimits, metrics),
  },
  {
    name: "authorization",
    make: ({ authorizer, access }) => withAuthorization(authorizer, access),
  },
  {
    name: "count of long-running requests",
    why: "After authorization: only admitted requests count as open.",
    make: ({ metrics }) => withLongRunningCount(metrics),
  },
];

/** The first of them that knows the path answers. */
export const ANSWERERS: readonly Named<readonly RequestMiddleware[]>[] = [
  {
    name: "test API: its paths and faults",
    why: "First: a fault stands for any answer.",
    make: ({ testApi }) => testApi?.middlewares,
  },
  { name: "recorder: its paths", make: ({ recorder }) => recorder?.middlewares },
  { name: "kubeconfigs of control planes", make: ({ beside }) => beside },
  {
    name: "aggregation",
    why: "Before the resources, which answer 404 for groups that other servers serve.",
    make: ({ aggregation }) => aggregation && [aggregation],
  },
  { name: "non-resource paths", make: ({ routes }) => [routes] },
  {
    name: "resources",
    why: "Last: they answer 404 for what nobody knows.",
    make: ({ handler }) => [handler],
  },
];

export function requestChain(parts: RequestChainParts): RequestChain {
  return {
    steps: STEPS.map(({ make }) => make(parts)).filter((step) => step !== undefined),
    answerers: ANSWERERS.flatMap(({ make }) => make(parts) ?? []),
  };
}
