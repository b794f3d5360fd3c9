/**
 * Creates the plugins that clusters turn on by name, most of them with settings from the file of
 * `--admission-control-config-file`, and those about changes of pods. The flags choose (plugins.ts).
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Naming } from "../api/naming.js";
import type { Review } from "../client/review-client.js";
import type { Catalog } from "../kinds/catalog.js";
import type { AdmissionPlugin } from "./admission.js";
import { alwaysAdmit, alwaysDeny } from "./always.js";
import { limitAntiAffinity } from "./anti-affinity.js";
import { EventRateLimit } from "./event-rate-limit.js";
import { ImagePolicyWebhook } from "./image-policy.js";
import type { AskForPermission } from "./matching/authorizer-answers.js";
import { namespaceAutoProvision, namespaceExists } from "./namespace-plugins.js";
import { ownerPermissions } from "./owner-permissions.js";
import { nodeDeclaredFeatures, podResizeValidator } from "./pod-changes.js";
import { createGroupPlugins } from "./pod-groups.js";
import { podNodeSelector } from "./pod-node-selector.js";
import { podTolerationRestriction } from "./pod-toleration-restriction.js";
import type { PluginSettings } from "./static/plugin-settings.js";
import type { AdmissionView } from "./stored-objects.js";
import { podTopologyLabels } from "./topology-labels.js";

export interface ConfiguredPluginParts {
  readonly view: AdmissionView;
  readonly naming: Naming;
  readonly catalog: { readonly current: Catalog };
  readonly clock: Pick<Clock, "monotonic">;
  readonly ask: AskForPermission;
  readonly settings: Readonly<PluginSettings>;
  /** Asks the webhook of the settings about images; absent without them. */
  readonly askAboutImages?: (
    review: Review,
    signal: AbortSignal,
  ) => Promise<Readonly<Record<string, unknown>>>;
}

/** What a plugin keeps in memory. */
export interface Remembering {
  readonly name: string;
  readonly size: number;
}

export interface ConfiguredPlugins {
  readonly plugins: readonly AdmissionPlugin[];
  readonly remembering: readonly Remembering[];
}

export function createConfiguredPlugins(parts: ConfiguredPluginParts): ConfiguredPlugins {
  const { view, naming, catalog, clock, ask, settings, askAboutImages } = parts;
  const events = new EventRateLimit(settings.EventRateLimit ?? [], clock);
  const images = new ImagePolicyWebhook({
    ...(settings.ImagePolicyWebhook ?? NOTHING_ALLOWED),
    naming,
    ask: askAboutImages ?? noAnswer,
  });
  return {
    plugins: [
      alwaysAdmit,
      namespaceAutoProvision,
      namespaceExists(view),
      limitAntiAffinity(naming),
      images,
      podNodeSelector(view, naming, settings.PodNodeSelector ?? new Map()),
      podTolerationRestriction(
        view,
        naming,
        settings.PodTolerationRestriction ?? { defaults: [], allowed: [] },
      ),
      events,
      ownerPermissions({ catalog, ask }),
      podTopologyLabels(view, naming),
      nodeDeclaredFeatures(view),
      podResizeValidator(view, naming),
      ...createGroupPlugins(view, naming),
      alwaysDeny,
    ],
    remembering: [events, images],
  };
}

const NOTHING_ALLOWED = { allowTtlMs: 0, denyTtlMs: 0, defaultAllow: false };

async function noAnswer(): Promise<never> {
  throw new Error("no image policy is configured");
}

/**
 * Plugins that do nothing without settings are not turned on without them.
 * @throws {RangeError} one line that names the plugin
 */
export function requireSettings(
  plugins: readonly AdmissionPlugin[],
  settings: Readonly<PluginSettings>,
): void {
  for (const needed of ["EventRateLimit", "ImagePolicyWebhook"] as const) {
    if (settings[needed] !== undefined || !plugins.some(({ name }) => name === needed)) continue;
    throw new RangeError(
      `admission plugin ${needed} has no configuration: --admission-control-config-file names none`,
    );
  }
}
