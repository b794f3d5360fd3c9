/**
 * Wiring of requests to control planes that are not served: they do not exist, are suspended, or are being deleted. Who
 * sends them is found out as in one that is served, and refused with the same words as a stranger there; only
 * who may get the ControlPlane in the root is told more. Such requests are in the audit log, too.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Logger } from "../../storage/base/logger.js";
import type { StatusError } from "../api/status.js";
import { type Authenticator, UnionAuthenticator } from "../authn/authenticator.js";
import { UnknownBearerAuthenticator } from "../authn/unknown-bearer.js";
import { type Authorizer, NO_OPINION } from "../authz/authorizer.js";
import { createApplication } from "../chain/application.js";
import { createAuditSteps } from "../chain/audit.js";
import { InFlightLimits } from "../chain/in-flight.js";
import { requestChain } from "../chain/request-chain.js";
import { createProtobufCodecs } from "../codec/protobuf.js";
import type { Config } from "../config/config.js";
import { CONTROL_PLANES, controlPlaneGroup } from "../control-planes/definition.js";
import { nameIn, toOwnUrl } from "../control-planes/names-in-requests.js";
import { createStatusEncoder } from "../endpoints/representations/status-encoder.js";
import type { RequestListener } from "../http/request-listener.js";
import { createAccessMetrics } from "../metrics/access-metrics.js";
import type { QuietMetrics } from "../metrics/quiet-metrics.js";
import type { RequestMiddleware } from "../request/request-state.js";
import { gate, type RequestStep } from "../request/step.js";
import type { Verbosity } from "../request/verbosity.js";
import type { Facts } from "../schema/model.js";
import type { Access } from "./access.js";
import { permissionsOf } from "./admission.js";
import type { Audit } from "./audit.js";
import type { Tracing } from "./tracing.js";
import { negotiatorOf } from "./verbs.js";

export interface NowhereParts {
  readonly config: Config;
  readonly facts: Facts;
  readonly logger: Logger;
  readonly verbosity: Verbosity;
  readonly tracing: Tracing;
  readonly audit: Audit | undefined;
  readonly metrics: QuietMetrics;
  /** The root's. */
  readonly access: Access;
  /** Why a request is not served; undefined = nothing is known. */
  refusalOf(request: IncomingMessage): StatusError | undefined;
  /** The same for a user of the control plane itself. */
  refusalOfUser(headers: IncomingHttpHeaders): StatusError | undefined;
}

/** Nobody may do anything. */
const nobody: Authorizer = { name: "nowhere", authorize: () => NO_OPINION };
const pass: RequestMiddleware = (_ctx, next) => next();

export function createNowhere(parts: NowhereParts): RequestListener {
  const { config, logger, verbosity, metrics, audit, access } = parts;
  const { naming } = config;
  const { common, isIdentityHeader } = access.authentication;
  const members = [
    ownUsers(parts),
    ...common.before,
    ...common.after,
    new UnknownBearerAuthenticator(),
  ];
  const chain = requestChain({
    logger,
    naming,
    verbosity,
    metrics,
    access: createAccessMetrics(metrics, naming),
    encodeStatus: createStatusEncoder(
      naming,
      negotiatorOf(config),
      createProtobufCodecs(parts.facts),
    ),
    tracing: parts.tracing.steps,
    audit: audit && createAuditSteps(audit.recorder),
    authenticator: new UnionAuthenticator(members),
    isIdentityHeader,
    authorizer: nobody,
    inFlightLimits: new InFlightLimits({ readOnlyMax: 0, mutatingMax: 0 }),
    requestTimeoutMs: config.requestTimeoutMs,
    isServed: () => false,
    entrance: withReasons(parts),
    routes: pass,
    handler: pass,
  });
  return createApplication(chain, toOwnUrl);
}

/** Users of the control plane itself have nothing to do elsewhere: they are told why nothing is served. */
function ownUsers({ refusalOfUser }: NowhereParts): Authenticator {
  return {
    name: "own-users",
    authenticate({ headers }) {
      const refusal = refusalOfUser(headers);
      if (refusal !== undefined) throw refusal;
      return undefined;
    },
  };
}

function withReasons({ config, access, refusalOf }: NowhereParts): RequestStep {
  const may = permissionsOf(access.authorization.authorizer);
  const group = controlPlaneGroup(config.naming);
  return gate(async function reasons(ctx) {
    const { user, signal } = ctx.state;
    const name = nameIn(ctx.originalUrl);
    const question = { verb: "get", group, resource: CONTROL_PLANES, namespace: "", name };
    if (!(await may(user, question, signal))) return;
    const reason = refusalOf(ctx.req);
    if (reason !== undefined) throw reason;
  });
}
