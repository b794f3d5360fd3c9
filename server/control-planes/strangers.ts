/** Refuses whoever is nobody in a control plane, as authorization does, and before it tells anything of the inside. */
import { denial } from "../authz/denial.js";
import { gate, type RequestStep } from "../request/step.js";
import type { UserInfo } from "../request/user-info.js";

/** Behind authentication. @throws {StatusError} 403, with the words for a name that does not exist */
export function withoutStrangers(isStranger: (user: UserInfo) => boolean): RequestStep {
  return gate(function strangers({ state }) {
    if (!isStranger(state.user)) return;
    state.isAuthorized = false;
    state.authorizationReason = "";
    throw denial({ user: state.user, info: state.info }, "");
  });
}
