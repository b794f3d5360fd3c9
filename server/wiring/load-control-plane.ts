/**
 * Wiring of the load of one control plane below the root: its own list of parts (control-plane.ts) over its own prefix
 * of the store, with what it shares of the process.
 */
import { openAll } from "../../storage/base/cleanup.js";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import { Lifecycle, type TaskObserver } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { StorageError } from "../../storage/kv/errors.js";
import type { SharedFeed } from "../../storage/kv/shared-feed.js";
import type { ObjectPatterns } from "../../storage/objects/object-patterns.js";
import { forbidden } from "../api/status.js";
import type { ProtobufCodecs } from "../codec/protobuf.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import { ensureAdministrator } from "../control-planes/administrator.js";
import {
  type BeginningParts,
  begunAt,
  markBegun,
  putBeginning,
  readContent,
} from "../control-planes/beginning.js";
import type { ControlPlaneEntry } from "../control-planes/control-plane-index.js";
import { type LoadedControlPlane, refusalOf } from "../control-planes/control-planes.js";
import type { DefaultContent } from "../control-planes/default-content.js";
import { CONTROL_PLANES, controlPlaneGroup } from "../control-planes/definition.js";
import type { Lead } from "../control-planes/lead.js";
import { LimitGuard, sizeOf } from "../control-planes/limit-guard.js";
import { toOwnUrl } from "../control-planes/names-in-requests.js";
import { owesWork } from "../control-planes/owed-work.js";
import { RestMark } from "../control-planes/rest-mark.js";
import { RestingLoops } from "../control-planes/resting-loops.js";
import { Usage } from "../control-planes/usage.js";
import type { AuthenticationTrust } from "../controllers/authentication-trust.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { type ControllersOptions, runLoops } from "../controllers/run-controllers.js";
import type { CustomCodecs } from "../definitions/custom-codec.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import type { SharedDocuments } from "../endpoints/openapi/openapi.js";
import type { Turns } from "../flowcontrol/turns.js";
import { Health } from "../http/health.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { QuietMetrics } from "../metrics/quiet-metrics.js";
import type { SharedResources } from "../registry/built-in-catalog.js";
import type { Verbosity } from "../request/verbosity.js";
import type { Facts } from "../schema/model.js";
import { type Access, openAccess } from "./access.js";
import type { AdmissionFiles } from "./admission-files.js";
import type { Audit } from "./audit.js";
import { openOriginal } from "./clone-original.js";
import { type ControlPlane, createControlPlane } from "./control-plane.js";
import { inheritAuthentication } from "./control-plane-authentication.js";
import { basePathOf, controlPlaneConfig } from "./control-plane-config.js";
import {
  ensureLoopsResults,
  ensureOwnAddress,
  ensureOwnObjects,
  type FilledParts,
  type Milestones,
  prepareLoops,
} from "./fill-registry.js";
import { addChecks } from "./health-checks.js";
import type { OutgoingFiles } from "./outgoing-files.js";
import type { ProcessMemory } from "./process-memory.js";
import type { Security } from "./security.js";
import { type OpenedStore, openPartStore } from "./store.js";
import type { Tracing } from "./tracing.js";
import type { AlikeAnswers } from "./verbs.js";

/** What the process has, for all control planes. */
export interface LoadParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly build: BuildInfo;
  readonly facts: Facts;
  readonly codecs: KindCodecs;
  /** Of custom kinds; what is alike is compiled once. */
  readonly customCodecs: CustomCodecs;
  readonly protobuf: ProtobufCodecs;
  readonly alikeAnswers: AlikeAnswers;
  readonly openApiShared: SharedDocuments;
  readonly turns: Turns;
  /** The built-in resources of all of them. */
  readonly builtIn: SharedResources;
  readonly exclusions: readonly ExcludedResource[];
  readonly logger: Logger;
  readonly verbosity: Verbosity;
  readonly tracing: Tracing;
  readonly security: Security;
  readonly storage: OpenedStore;
  readonly memory: ProcessMemory;
  readonly feed: SharedFeed;
  /** The root's. */
  readonly access: Access;
  readonly audit: Audit | undefined;
  readonly admissionFiles: AdmissionFiles;
  readonly outgoingFiles: OutgoingFiles;
  readonly metrics: QuietMetrics;
  readonly tasks?: TaskObserver;
  readonly serverAddress: () => string;
  /** PEM: the authorities by which clients verify this API. */
  rootAuthority(): string;
  trust(): AuthenticationTrust;
  /** Whether the control loops are this process's. */
  readonly lead: Lead;
  /** What many of them have alike. */
  readonly patterns: ObjectPatterns;
  /** What new ones begin with. */
  readonly defaults: DefaultContent;
  /** The entry as it is now; its limits may have changed. */
  current(name: string): ControlPlaneEntry | undefined;
  /** Loads another one. @throws {StatusError} */
  open(name: string): Promise<unknown>;
}

/** How long requests under way may take when it is let go. */
const GRACE_MS = 5_000;
const POLL_MS = 10;
const LOOPS_OF_CLONES_AFTER_MS = 20;

/** @throws {StorageError}; the signal's reason */
export function loadControlPlane(
  parts: LoadParts,
  entry: ControlPlaneEntry,
  signal: AbortSignal,
): Promise<LoadedControlPlane> {
  return openAll(async (opened) => {
    const { clock, facts, metrics, feed, access: root } = parts;
    const config = controlPlaneConfig(parts.config, entry);
    const basePath = basePathOf(entry);
    const logger = parts.logger.child({ controlPlane: entry.name });
    const part = feed.part(entry.uid, () => root.views.freshness.fresh());
    opened.use(part);
    const basis = basisOf(parts);
    let made: (() => void) | undefined;
    opened.defer(async () => made?.());
    let rest: RestMark | undefined;
    const small = { patterns: parts.patterns, changed: () => loops?.changed() };
    let loops: RestingLoops | undefined;
    const [storage, isNew] = await openPartStore(
      { config, clock, uid: entry.uid, facts, logger, root: parts.storage, part, small },
      async (store) => {
        const own = { store, prefix: part.prefix };
        rest = new RestMark({ ...own, basis: restBasisOf(parts, basis) });
        const [begun] = await Promise.all([begunAt(own, signal), rest.read(signal)]);
        // What clients know of an earlier one of its name is not continued.
        if (begun !== undefined) part.beganAt(begun);
        if (begun !== undefined) return false;
        if (entry.cloneFrom === undefined) made = await parts.defaults.claim(basis, signal);
        await begin(parts, entry, { ...own, basis }, signal);
        return true;
      },
      signal,
    );
    opened.use(storage);
    const own = { store: storage.store, prefix: part.prefix };
    const isDefault = isNew && entry.cloneFrom === undefined;
    const isFilled = isDefault && made === undefined;
    const serverAddress = () => `${parts.serverAddress()}${basePath}`;
    const hasRootAccess = config.controlPlaneRootAccess;
    const access = opened.use(
      await openAccess({
        ...{ config, clock, facts, metrics, logger, storage, serverAddress },
        ...{ codecs: parts.codecs, customCodecs: parts.customCodecs, builtIn: parts.builtIn },
        security: parts.security,
        memory: parts.memory,
        inherit: (asked) =>
          inheritAuthentication({ ...asked, root: root.authentication, hasRootAccess }),
      }),
    );
    const lifecycle = opened.use(new Lifecycle(logger, parts.tasks));
    const health = new Health({ logger, clock: systemClock, livezGracePeriodMs: 0 });
    let isEnding = false;
    addChecks(health, access.views, () => isEnding);
    const limits = () => parts.current(entry.name)?.limits ?? {};
    // What the server makes at the beginning is not refused: a smaller limit would leave nothing that can be loaded.
    let isBegun = false;
    const usage = new Usage(systemClock, limits);
    const plane = createControlPlane(
      {
        ...parts,
        ...{ config, metrics, logger, storage, access, health, lifecycle },
        toOwnUrl,
        admissionFiles: { ...parts.admissionFiles, credentials: new Map() },
        serverAddress: parts.serverAddress,
        usage,
        turnLevel: `control plane ${entry.name}`,
        guards: [new LimitGuard(access.views.view, () => (isBegun ? limits() : {}))],
      },
      opened,
    );
    await access.views.view.start(lifecycle, signal);
    const objects = createLocalObjects(plane.registry);
    const { view } = access.views;
    const filled = {
      ...parts,
      ...{ config, metrics, logger, storage, access, lifecycle, serverAddress },
      runLoops: (asked: ControllersOptions, until: AbortSignal) =>
        parts.lead.run((leading) => runLoops(asked, leading), until),
      ...{ aggregation: plane.aggregation, registry: plane.registry, testApi: undefined },
      simulation: plane.simulation,
    };
    if (isNew) await ensureAdministrator(objects, config.naming, entry, signal);
    if (isFilled) await ensureOwnAddress(filled);
    else if (isDefault) await fill(filled);
    if (isNew) {
      const more = isDefault && rest !== undefined ? [rest.toPut()] : [];
      const begun = await markBegun(own, more, signal);
      if (isDefault) rest?.wasPut();
      part.beganAt(begun);
      // No answer says an earlier revision, which other replicas would refuse.
      await view.waitForRevision(begun, signal);
    }
    if (isDefault && !isFilled) {
      parts.defaults.keep(
        await readContent({ ...own, naming: config.naming }, view.revision, signal),
        basis,
      );
    }
    made?.();
    isBegun = true;
    plane.aggregation.spawn(lifecycle, objects);
    const isDone = isDefault || (rest?.isThere === true && !owesWork(view, config.naming));
    loops = restingLoops(filled, { isFilled: isDefault, rest, lead: parts.lead });
    // What was left undone by who had it before.
    if (!isDone) loops.changed();
    const begun = loops;
    lifecycle.spawn("loops", "restart", async (until) => {
      // Who waits for a clone gets its first answer before they look at everything.
      if (isNew && !isDefault) await systemClock.sleep(LOOPS_OF_CLONES_AFTER_MS, until);
      await begun.run(until);
    });
    view.recall.start(lifecycle);
    return {
      entry,
      handle: plane.handle,
      usage,
      registry: plane.registry,
      issuer: storage.tokenKeys.issuer,
      tick: () => plane.ticker.tick(),
      size: () => sizeOf(view),
      owesWork: () => owesWork(view, config.naming),
      lookAgain: () => loops?.changed(),
      endAll: () => plane.endAll(),
      isResting: () => loops?.isResting === true,
      async close() {
        isEnding = true;
        plane.endAll(refusalOf(parts.current(entry.name)) ?? "the control plane is let go");
        await requestsOver(plane);
        await opened[Symbol.asyncDispose]();
      },
    };
  });
}

/** Puts what it begins with. @throws {StatusError} what it is cloned from is not there, or not any more */
async function begin(
  parts: LoadParts,
  entry: ControlPlaneEntry,
  own: Parameters<typeof putOwnBeginning>[2],
  signal: AbortSignal,
): Promise<void> {
  try {
    await putOwnBeginning(parts, entry, own, signal);
  } catch (error) {
    const why = whyNever(error);
    if (why === undefined) throw error;
    const group = controlPlaneGroup(parts.config.naming);
    throw forbidden({ group, resource: CONTROL_PLANES }, entry.name, why);
  }
}

/** @returns why a clone will never be made; undefined = it may be, later */
function whyNever(error: unknown): string | undefined {
  if (error instanceof RangeError) return error.message;
  if (!(error instanceof StorageError)) return undefined;
  if (error.code === "Compacted") return "the state that it is cloned from is not kept any more";
  return error.code === "FutureRevision" ? "there was no such resourceVersion yet" : undefined;
}

async function putOwnBeginning(
  parts: LoadParts,
  entry: ControlPlaneEntry,
  { basis, ...own }: Pick<BeginningParts, "store" | "prefix"> & { readonly basis: string },
  signal: AbortSignal,
): Promise<void> {
  const beginning = { ...own, defaults: parts.defaults.make(systemClock.now(), basis) };
  if (entry.cloneFrom === undefined) return await putBeginning(beginning, undefined, signal);
  const original = await openOriginal(parts, entry, entry.cloneFrom, signal);
  try {
    await putBeginning(beginning, original.source, signal);
  } finally {
    original.release();
  }
}

/** What the objects depend on that all begin with. */
function basisOf({ rootAuthority, trust }: LoadParts): string {
  return JSON.stringify([rootAuthority(), trust()]);
}

/** The first one that a process begins: the others begin with what it has then. @throws {StatusError} */
async function fill(parts: FilledParts): Promise<void> {
  await ensureOwnObjects(parts, NOBODY_WAITS);
  await ensureLoopsResults(parts);
}

/** What the server's own objects depend on, and what it does with those of others. */
function restBasisOf({ build, config }: LoadParts, basis: string): readonly unknown[] {
  const { controllers, enableBootstrapTokenAuth, releases, runtimeConfig } = config;
  return [build, basis, controllers, enableBootstrapTokenAuth, releases, [...runtimeConfig]];
}

interface BeginningOfLoops {
  /** The server's own objects are as they have to be. */
  readonly isFilled: boolean;
  readonly rest: RestMark | undefined;
  readonly lead: Pick<Lead, "isLeading">;
}

function restingLoops(
  parts: FilledParts,
  { isFilled, rest, lead }: BeginningOfLoops,
): RestingLoops {
  const { logger, config, access, registry } = parts;
  const uses = access.authentication.legacyTokenUses;
  let isEnsured = isFilled;
  const loops = new RestingLoops({
    ...{ clock: systemClock, logger, tasks: parts.tasks },
    async begin(lifecycle) {
      await rest?.delete(lifecycle.signal);
      isEnsured ||= await ensureOwnObjects({ ...parts, lifecycle }, NOBODY_WAITS);
      (await prepareLoops({ ...parts, lifecycle }))();
    },
    rested: () => uses.listen(() => loops.changed()),
    async quiet(signal) {
      // The loops of others have rested without having run.
      if (lead.isLeading && isEnsured) await rest?.put(signal);
    },
    owesWork: () => owesWork(registry.view, config.naming),
  });
  uses.listen(() => loops.changed());
  return loops;
}

const NOBODY_WAITS: Milestones = { kindsServed() {}, rolesMade() {}, fairnessSet() {} };

async function requestsOver(plane: ControlPlane): Promise<void> {
  const endsAtMs = systemClock.monotonic() + GRACE_MS;
  while (plane.requestsUnderWay() > 0 && systemClock.monotonic() < endsAtMs) {
    await systemClock.sleep(POLL_MS, NEVER);
  }
}

const NEVER = new AbortController().signal;
