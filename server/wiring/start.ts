/** Wiring of the start: what has to be there before a replica is ready, and what runs from then on. */
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Config } from "../config/config.js";
import { runAuthenticationTrust } from "../controllers/authentication-trust.js";
import { reconcileBootstrapPolicy } from "../controllers/bootstrap-policy.js";
import { ensureClusterInfo } from "../controllers/cluster-info.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import { runControllers } from "../controllers/run-controllers.js";
import { ensureSystemNamespaces } from "../controllers/system-namespaces.js";
import { ensureSystemPriorityClasses } from "../controllers/system-priority-classes.js";
import { rootAuthorityOf } from "./control-loops.js";
import type { Security } from "./security.js";
import type { TokenKeys } from "./token-keys.js";

export interface StartParts {
  readonly config: Config;
  readonly objects: ObjectsApi;
  readonly security: Security;
  readonly tokenKeys: TokenKeys;
  /** Under which others reach this replica: "https://10.0.0.1:6443". */
  readonly advertisedUrl: string;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
  /** Called when the default roles and bindings are there. */
  rolesMade(): void;
}

/** The view is loaded. Makes what every registry has; the loops run on in the background. */
export async function startReplica(parts: StartParts): Promise<void> {
  const { config, objects, security, lifecycle } = parts;
  const { naming } = config;
  const { signal } = lifecycle;
  const loops = { objects, naming, clock: systemClock, logger: parts.logger };
  await ensureSystemNamespaces(objects, naming, signal);
  await ensureSystemPriorityClasses(objects, naming, signal);
  await reconcileBootstrapPolicy(loops, signal);
  parts.rolesMade();
  const rootAuthority = await rootAuthorityOf(config, () => security.servingAuthority());
  if (config.enableBootstrapTokenAuth) {
    const info = { server: parts.advertisedUrl, authority: rootAuthority() };
    await ensureClusterInfo(objects, naming, info, signal);
  }
  const trust = () => security.trust();
  lifecycle.spawn("authentication trust", (until) =>
    runAuthenticationTrust({ ...loops, trust }, until),
  );
  if (!config.runControllers) return;
  const serviceAccounts = { issuer: parts.tokenKeys.issuer, rootAuthority };
  const { controllers } = config;
  lifecycle.spawn("controllers", (until) =>
    runControllers({ ...loops, serviceAccounts, controllers }, until),
  );
}
