/** Asks whether the user may; 403 when not. Writes what was decided, and why, into `ctx.state`. */
import { inSpan } from "../../storage/base/trace.js";
import { internalError } from "../api/status.js";
import type { AuthorizationAttributes, Authorizer, Verdict } from "../authz/authorizer.js";
import { denial } from "../authz/denial.js";
import type { RequestMiddleware } from "../request/request-state.js";

export function withAuthorization(authorizer: Authorizer): RequestMiddleware {
  return function authorization(ctx, next) {
    const { state } = ctx;
    const attributes: AuthorizationAttributes = { user: state.user, info: state.info };
    const answer =
      state.trace?.isDetailed === true
        ? inSpan(state.trace, "authorization", () => authorizer.authorize(attributes, state))
        : authorizer.authorize(attributes, state);
    if (answer instanceof Promise) return answer.then((verdict) => proceed(verdict));
    return proceed(answer);

    function proceed(verdict: Verdict): Promise<void> {
      state.authorizationReason = verdict.reason;
      state.isAuthorized = verdict.decision === "allow";
      // Decision before error: a rule may be unreadable while another one allows.
      if (verdict.decision === "allow") return next();
      if (verdict.error !== undefined && verdict.decision === "no-opinion") {
        throw internalError("authorization could not be decided", verdict.error);
      }
      throw denial(attributes, verdict.reason);
    }
  };
}
