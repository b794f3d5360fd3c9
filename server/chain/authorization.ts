/** Authorizes the user; 403 when refused, 503 when what decides cannot be read. Writes decision and reason into `ctx.state`. */
import { inSpan } from "../../storage/base/trace.js";
import { internalError, StatusError } from "../api/status.js";
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  Authorizer,
} from "../authz/authorizer.js";
import { denial } from "../authz/denial.js";
import type { AccessMetrics, Authorization } from "../metrics/access-metrics.js";
import type { RequestState } from "../request/request-state.js";
import { gate, type RequestStep } from "../request/step.js";

export function withAuthorization(
  authorizer: Authorizer,
  metrics: Pick<AccessMetrics, "authorized">,
): RequestStep {
  return gate(function authorization({ state }) {
    const attributes: AuthorizationAttributes = { user: state.user, info: state.info };
    const startedMs = performance.now();
    const answer =
      state.trace?.isDetailed === true
        ? inSpan(state.trace, "authorization", () => authorizer.authorize(attributes, state))
        : authorizer.authorize(attributes, state);
    if (answer instanceof Promise) {
      return answer.then((result) => conclude(result, startedMs, attributes, state));
    }
    return conclude(answer, startedMs, attributes, state);
  });

  function conclude(
    result: AuthorizationResult,
    startedMs: number,
    attributes: AuthorizationAttributes,
    state: RequestState,
  ): undefined {
    metrics.authorized(resultOf(result), startedMs);
    return applyResult(result, attributes, state);
  }
}

function resultOf({ decision, error }: AuthorizationResult): Authorization {
  if (decision === "allow") return "allowed";
  if (error !== undefined) return "error";
  return decision === "deny" ? "denied" : "no-opinion";
}

function applyResult(
  result: AuthorizationResult,
  attributes: AuthorizationAttributes,
  state: RequestState,
): undefined {
  state.authorizationReason = result.reason;
  state.isAuthorized = result.decision === "allow";
  // Decision before error: one rule may be unreadable while another one allows. A refusal for want of an answer is an error.
  if (result.decision === "allow") return;
  if (result.error instanceof StatusError) throw result.error;
  if (result.error !== undefined) {
    throw internalError("authorization could not be decided", result.error);
  }
  throw denial(attributes, result.reason);
}
