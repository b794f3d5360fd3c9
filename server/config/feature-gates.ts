/**
 * The feature gates as one table (C-10): what the server can do that may be turned on or off. A
 * gate that is locked has one state only; saying so is allowed, saying otherwise is refused.
 */

import {
  API_RELEASE,
  compareReleases,
  formatRelease,
  parseRelease,
  type Release,
} from "../schema/lifecycle.js";

export type FeatureStage = "ALPHA" | "BETA" | "GA" | "DEPRECATED";

export interface FeatureGate {
  readonly stage: FeatureStage;
  readonly default: boolean;
  /** The state can not be changed. */
  readonly isLocked?: true;
  readonly help: string;
  /** Its state in older releases that can be emulated, oldest first. */
  readonly earlier?: readonly EarlierState[];
}

export interface EarlierState {
  /** The first release in which it was another one, such as "1.34". */
  readonly before: string;
  /** Absent = the gate did not exist, and cannot be set. */
  readonly stage?: FeatureStage;
  readonly default: boolean;
}

export const FEATURE_GATES = {
  APIListChunking: {
    stage: "GA",
    default: true,
    isLocked: true,
    help: "Lists in pages by limit and continue.",
  },
  APIResponseCompression: {
    stage: "BETA",
    default: true,
    help: "Compression of answers for clients that accept it.",
  },
  AllowUnsafeMalformedObjectDeletion: {
    stage: "ALPHA",
    default: false,
    help: "Deleting objects that can not be read any more.",
  },
  AuthorizePodWebsocketUpgradeCreatePermission: {
    stage: "BETA",
    default: true,
    help: "WebSockets to exec, attach and portforward need the permission to create as well.",
    earlier: [{ before: "1.35", default: false }],
  },
  CBORServingAndStorage: {
    stage: "ALPHA",
    default: false,
    help: "CBOR as a form of requests and answers.",
  },
  CRDObservedGenerationTracking: {
    stage: "BETA",
    default: true,
    help: "Status and conditions of definitions may say which generation they are of.",
    earlier: [
      { before: "1.35", default: false },
      { before: "1.36", stage: "BETA", default: false },
    ],
  },
  ConsistentListFromCache: {
    stage: "GA",
    default: true,
    isLocked: true,
    help: "Consistent reads from memory by progress notifications of the store.",
    earlier: [{ before: "1.34", stage: "BETA", default: true }],
  },
  ConstrainedImpersonation: {
    stage: "BETA",
    default: true,
    help: "Impersonation with permissions for what is done as somebody else.",
    earlier: [
      { before: "1.35", default: false },
      { before: "1.36", stage: "ALPHA", default: false },
    ],
  },
  DeclarativeValidation: {
    stage: "BETA",
    default: true,
    help: "Validation by rules declared in the types, compared with the handwritten one.",
  },
  DeclarativeValidationTakeover: {
    stage: "BETA",
    default: false,
    help: "The declared rules decide instead of the handwritten ones.",
  },
  DRAResourceClaimGranularStatusAuthorization: {
    stage: "BETA",
    default: true,
    help: "Parts of a device claim's status need permissions of their own.",
    earlier: [{ before: "1.36", default: false }],
  },
  DryRun: { stage: "GA", default: true, isLocked: true, help: "Writes that change nothing." },
  ExtendWebSocketsToKubelet: {
    stage: "BETA",
    default: true,
    help: "WebSockets go through to node agents that say they take them.",
    earlier: [{ before: "1.36", default: false }],
  },
  ListFromCacheSnapshot: {
    stage: "BETA",
    default: true,
    help: "Lists at an exact version from snapshots in memory.",
    earlier: [{ before: "1.34", stage: "ALPHA", default: false }],
  },
  PodLogsQuerySplitStreams: {
    stage: "ALPHA",
    default: false,
    help: "The parameter stream of logs: standard output and standard error apart.",
  },
  PortForwardWebsockets: {
    stage: "BETA",
    default: true,
    help: "Forwarded ports in a tunnel through a WebSocket.",
  },
  RemainingItemCount: {
    stage: "GA",
    default: true,
    isLocked: true,
    help: "The number of items after a page.",
  },
  ServerSideApply: { stage: "GA", default: true, isLocked: true, help: "Apply patches." },
  ServerSideFieldValidation: {
    stage: "GA",
    default: true,
    isLocked: true,
    help: "Warnings and errors for unknown and duplicate fields.",
  },
  StructuredAuthenticationConfigurationEgressSelector: {
    stage: "BETA",
    default: true,
    help: "The field egressSelectorType of issuers in --authentication-config.",
    earlier: [{ before: "1.34", default: false }],
  },
  TranslateStreamCloseWebsocketRequests: {
    stage: "BETA",
    default: true,
    help: "WebSockets of exec and attach are translated for node agents that take none.",
  },
  WatchBookmark: {
    stage: "GA",
    default: true,
    isLocked: true,
    help: "Watch events that only say how far the watch has come.",
  },
  ManifestBasedAdmissionControlConfig: {
    stage: "ALPHA",
    default: false,
    help: "Webhooks and admission policies from files, by the AdmissionConfiguration.",
    earlier: [{ before: "1.36", default: false }],
  },
  WatchList: {
    stage: "BETA",
    default: true,
    help: "Lists as a stream of watch events.",
    earlier: [{ before: "1.34", stage: "BETA", default: false }],
  },
} as const satisfies Record<string, FeatureGate>;

export type FeatureName = keyof typeof FEATURE_GATES;
export type Features = Readonly<Record<FeatureName, boolean>>;

/** Gates that stand for all of a stage. */
const STAGE_SWITCHES: Readonly<Record<string, FeatureStage>> = {
  AllAlpha: "ALPHA",
  AllBeta: "BETA",
};

/**
 * The state of all gates in a release.
 * @throws {RangeError} with one line for unknown and locked gates, and those that the release has not
 */
export function resolveFeatures(
  asked: ReadonlyMap<string, boolean>,
  release: Release = API_RELEASE,
): {
  features: Features;
  warnings: string[];
} {
  const warnings: string[] = [];
  const gates = gatesIn(release);
  const features = Object.fromEntries(
    Object.entries(gates).map(([name, gate]) => [name, stageDefault(gate, asked)]),
  );
  for (const [name, isEnabled] of asked) {
    if (Object.hasOwn(STAGE_SWITCHES, name)) continue;
    if (!Object.hasOwn(gates, name)) {
      const known = [...Object.keys(STAGE_SWITCHES), ...Object.keys(gates)].sort().join(", ");
      throw new RangeError(`unrecognized feature gate: ${name}; known are ${known}`);
    }
    const gate = gates[name] as GateState;
    if (gate.stage === undefined) {
      throw new RangeError(
        `cannot set feature gate ${name} to ${isEnabled}, feature is PreAlpha at emulated version ${formatRelease(release)}`,
      );
    }
    if (gate.isLocked && isEnabled !== gate.default) {
      throw new RangeError(
        `cannot set feature gate ${name} to ${isEnabled}, feature is locked to ${gate.default}`,
      );
    }
    if (gate.stage === "GA" || gate.stage === "DEPRECATED") {
      const stage = gate.stage === "GA" ? "GA" : "deprecated";
      warnings.push(
        `Setting ${stage} feature gate ${name}=${isEnabled}. It will be removed in a future release.`,
      );
    }
    features[name] = isEnabled;
  }
  return { features: Object.freeze(features) as Features, warnings };
}

/** A gate as it is in one release. */
type GateState = Pick<FeatureGate, "default" | "isLocked"> & Partial<Pick<FeatureGate, "stage">>;

/** All gates by name, as they are in a release. */
export function gatesIn(release: Release): Readonly<Record<string, GateState>> {
  return Object.fromEntries(
    Object.entries<FeatureGate>(FEATURE_GATES).map(([name, gate]) => [
      name,
      stateIn(gate, release),
    ]),
  );
}

function stateIn(gate: FeatureGate, release: Release): GateState {
  const earlier = gate.earlier?.find(({ before }) => {
    const changed = parseRelease(before);
    return changed !== undefined && compareReleases(release, changed) < 0;
  });
  return earlier ?? gate;
}

function stageDefault(gate: GateState, asked: ReadonlyMap<string, boolean>): boolean {
  for (const [name, stage] of Object.entries(STAGE_SWITCHES)) {
    const isEnabled = asked.get(name);
    if (isEnabled !== undefined && gate.stage === stage && !gate.isLocked) return isEnabled;
  }
  return gate.default;
}
