/** Wiring of admission: the plugins for every write, in order. */
import type { Clock } from "../../storage/base/clock.js";
import type { Admission, AdmissionPlugin } from "../admission/admission.js";
import { AdmissionChain } from "../admission/chain.js";
import { createConfiguredPlugins, requireSettings } from "../admission/configured-plugins.js";
import {
  createDefaultPlugins,
  mayUseSignerBy,
  type PermissionQuestion,
} from "../admission/default-plugins.js";
import { choosePlugins } from "../admission/plugins.js";
import { ResourceQuota } from "../admission/quota/resource-quota.js";
import { ServiceAccountAdmission } from "../admission/service-account.js";
import { ReservedNames } from "../admission/static/reserved-names.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { Config } from "../config/config.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import { createSignerGuard } from "../registry/certificates/signer-guard.js";
import type { UserInfo } from "../request/user-info.js";
import type { AdmissionFiles } from "./admission-files.js";
import { observeAdmission } from "./admission-metrics.js";
import type { Authorization } from "./authorization.js";
import { asksFor } from "./rules.js";
import type { Views } from "./storage.js";

export interface AdmissionParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly views: Views;
  readonly authorization: Pick<Authorization, "authorizer" | "guards">;
  readonly metrics: Metrics;
  /** The plugins that evaluate user-defined rules. */
  readonly rules: readonly AdmissionPlugin[];
  readonly catalog: CatalogSource;
  readonly files: Pick<AdmissionFiles, "settings" | "images">;
  /** Further guards. */
  readonly guards?: readonly AdmissionPlugin[];
}

/**
 * The guards mutate nothing, and no flag switches them off.
 * @throws {RangeError} with one line for unknown plugins
 */
export function createAdmission(parts: AdmissionParts): Admission {
  const { config, views, authorization, metrics, rules, catalog, files } = parts;
  const { settings, images } = files;
  const { naming, enableAdmissionPlugins, disableAdmissionPlugins } = config;
  const { view, freshness } = views;
  const fresh = async () => {
    await freshness.fresh();
  };
  const configured = createConfiguredPlugins({
    view,
    naming,
    catalog,
    settings,
    clock: parts.clock,
    ask: asksFor(authorization.authorizer),
    ...(images !== undefined && { askAboutImages: (...asked) => images.ask(...asked) }),
  });
  metrics.gauge(
    {
      name: "keelson_admission_remembered_entries",
      help: "Entries that admission plugins keep in memory: rates of events, answers about images.",
      labelNames: ["name"],
    },
    (set) => {
      for (const { name, size } of configured.remembering) set(size, name);
    },
  );
  const may = permissionsOf(authorization.authorizer);
  const plugins = [
    ...configured.plugins,
    ...createDefaultPlugins({
      view,
      naming,
      may,
      notReadyTolerationSeconds: config.defaultNotReadyTolerationSeconds,
      unreachableTolerationSeconds: config.defaultUnreachableTolerationSeconds,
      podSecurity: settings.PodSecurity,
    }),
    new ServiceAccountAdmission({ view, fresh, naming, clock: parts.clock }),
    ...rules,
    new ResourceQuota({
      view,
      fresh,
      naming,
      clock: parts.clock,
      limited: settings.ResourceQuota ?? [],
    }),
  ];
  const choice = { enabled: enableAdmissionPlugins, disabled: disableAdmissionPlugins };
  const isReserved = config.features.ManifestBasedAdmissionControlConfig;
  const ownGuards = [
    new ReservedNames(naming, isReserved),
    ...authorization.guards,
    createSignerGuard(naming, mayUseSignerBy(naming, may)),
  ];
  const guards = [...ownGuards, ...(parts.guards ?? [])];
  const chosen = choosePlugins(plugins, choice);
  requireSettings(chosen, settings);
  return new AdmissionChain([...chosen, ...guards], {
    nowMs: () => performance.now(),
    observer: observeAdmission(metrics),
  });
}

/** Whether a user may do something, for plugins that ask. */
export function permissionsOf(authorizer: Authorizer) {
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
