/** Wiring of admission: which plugins look at every write, in order. */
import { systemClock } from "../storage/base/clock.js";
import type { Admission } from "./admission/admission.js";
import { AdmissionChain } from "./admission/chain.js";
import { createDefaultPlugins, type PermissionQuestion } from "./admission/default-plugins.js";
import { choosePlugins } from "./admission/plugins.js";
import { ServiceAccountAdmission } from "./admission/service-account.js";
import type { Authorizer } from "./authz/authorizer.js";
import type { Config } from "./config/config.js";
import type { UserInfo } from "./request/user-info.js";
import type { Authorization } from "./wiring-authorization.js";
import type { Views } from "./wiring-storage.js";

/**
 * The guards come last: they see what is to be stored, and no flag switches them off.
 * @throws {RangeError} with one line for unknown plugins
 */
export function createAdmission(
  { naming, enableAdmissionPlugins, disableAdmissionPlugins }: Config,
  { view, freshness }: Views,
  { authorizer, guards }: Pick<Authorization, "authorizer" | "guards">,
): Admission {
  const fresh = async () => {
    await freshness.fresh();
  };
  const plugins = [
    ...createDefaultPlugins({ view, naming, may: permissionsOf(authorizer) }),
    new ServiceAccountAdmission({ view, fresh, naming, clock: systemClock }),
  ];
  const choice = { enabled: enableAdmissionPlugins, disabled: disableAdmissionPlugins };
  return new AdmissionChain([...choosePlugins(plugins, choice), ...guards]);
}

function permissionsOf(authorizer: Authorizer) {
  return async (user: UserInfo, question: PermissionQuestion, signal: AbortSignal) => {
    const info = {
      ...question,
      isResourceRequest: true,
      path: "",
      version: "*",
      subresource: "",
    };
    const { decision } = await authorizer.authorize({ user, info }, { signal });
    return decision === "allow";
  };
}
