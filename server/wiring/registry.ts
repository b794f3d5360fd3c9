/** Wiring of the registry: the dependencies of writes. */
import type { Clock } from "../../storage/base/clock.js";
import { nextTurn } from "../../storage/base/next-turn.js";
import { SharedDeadline } from "../../storage/base/shared-deadline.js";
import { partitionId } from "../../storage/objects/keys.js";
import type { AdmissionPlugin } from "../admission/admission.js";
import { NAMESPACE_PROVISION } from "../admission/namespace-plugins.js";
import { formatGroupVersion } from "../api/names.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import type { Catalog } from "../kinds/catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import { createServiceAllocator } from "../registry/core/service-allocator.js";
import {
  createDeclarativeValidation,
  type DeclarativeValidation,
} from "../registry/generic/declarative-validation.js";
import { createOwnership } from "../registry/generic/ownership.js";
import type { Registry } from "../registry/registry.js";
import { provisionNamespace } from "../registry/write/provision-namespace.js";
import { WriteQueue } from "../registry/write/write-queue.js";
import type { Access } from "./access.js";
import { createAdmission } from "./admission.js";
import type { AdmissionFiles } from "./admission-files.js";
import { createRulePlugins } from "./rules.js";
import { isGateEnabled } from "./served-catalog.js";
import type { OpenedStore } from "./store.js";

export interface RegistryParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly storage: Pick<OpenedStore, "store" | "encryption">;
  readonly access: Access;
  readonly metrics: Metrics;
  readonly admissionFiles: AdmissionFiles;
  /** Keeps a record of writes; absent = nobody does. */
  readonly recorder?: Registry["recorder"];
  /** What admission policies have no say about. */
  readonly exclusions: readonly ExcludedResource[];
  /** Further guards of admission. */
  readonly guards?: readonly AdmissionPlugin[];
}

/** The store's own deadlines are shorter; this one ends waits that they do not cover. */
const COMMIT_DEADLINE_MS = 60_000;
const COMMIT_SLACK_MS = 5_000;

export function createRegistry(parts: RegistryParts): Registry {
  const { config, clock, metrics, exclusions } = parts;
  const { catalog, views, authorization, outgoing } = parts.access;
  const { store, encryption } = parts.storage;
  const { naming } = config;
  const files = parts.admissionFiles;
  const shared = { config, catalog, views, authorization, metrics };
  const ruleParts = { ...shared, outgoing, files, exclusions };
  const { plugins, passingRules } = createRulePlugins(ruleParts);
  const registry: Registry = {
    catalog,
    store,
    view: views.view,
    freshness: views.freshness,
    clock,
    naming,
    lifetimes: { eventTtlSeconds: Math.ceil(config.eventTtlMs / 1000) },
    ownership: createOwnership({ naming, clock, catalog, isTracked: config.isBrief !== true }),
    declarative: declarativeOf(config, metrics),
    admission: createAdmission({
      config,
      clock,
      views,
      authorization,
      metrics,
      rules: plugins,
      catalog,
      files,
      ...(parts.guards !== undefined && { guards: parts.guards }),
    }),
    passingRules,
    onUnstorable: unstorableOf(metrics),
    // Knows whether a value would be stored differently today.
    ...(encryption !== undefined && { storedForm: encryption.store }),
    recorder: parts.recorder,
    writeQueue: new WriteQueue(),
    commitDeadline: new SharedDeadline(COMMIT_DEADLINE_MS, COMMIT_SLACK_MS),
    allocators: {
      [partitionId("", "services")]: createServiceAllocator({
        ...config.serviceRanges,
        addressPartition: partitionId(`networking.${naming.groupDomain}`, "ipaddresses"),
      }),
    },
    ...(config.enableAdmissionPlugins.includes(NAMESPACE_PROVISION) && {
      provisionNamespace: (name, signal) => provisionNamespace(registry, name, signal),
    }),
  };
  return registry;
}

function unstorableOf(metrics: Metrics): () => void {
  const refused = metrics.counter({
    name: "apiserver_storage_unstorable_objects_total",
    help: "Objects that could not have been read again, and were not stored: a defect of this server.",
  });
  refused.add(0);
  return () => refused.add(1);
}

/** The facts' rules; disagreements with hand-written ones are counted (S1-FEAT-07). */
function declarativeOf({ features }: Config, metrics: Metrics): DeclarativeValidation {
  const mismatches = metrics.counter({
    name: "declarative_validation_mismatch_total",
    help: "Fields about which declarative and handwritten validation disagreed.",
    labelNames: ["validation_identifier"],
  });
  return createDeclarativeValidation({
    isGateEnabled: (gate) => isGateEnabled(features, gate),
    onMismatch: ({ group, resource }) => mismatches.add(1, `${group}/${resource}`),
  });
}

/**
 * Codecs are compiled on first use; compiling them ahead, one at a time, makes the first writes fast.
 */
export async function warmCodecs(catalog: Catalog, signal: AbortSignal): Promise<void> {
  for (const { codec, kind, group, version } of catalog.resources) {
    await nextTurn();
    if (signal.aborted) return;
    const apiVersion = formatGroupVersion({ group, version });
    const { object } = codec.decode({ kind, apiVersion, metadata: {} });
    codec.applyDefaults(object);
    codec.encode(object);
  }
}
