/**
 * The keeper of ControlPlanes: writes their status, and takes the content of those that are deleted out of the store.
 *
 * It runs in one replica at a time. Content goes in pieces, so that nobody waits for it, behind all other finalizers.
 * When a pass finds nothing, another follows after a pause: a replica may have let go of it a moment later. What goes
 * in another way - by a reset of the API of tests, by hand in the store - is looked for when it has gone, and of each once
 * more when no replica can have it in memory.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { nextTurn } from "../../storage/base/next-turn.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import type { ObjectMeta } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { formatTime } from "../api/time.js";
import { isLostRace } from "../controllers/lost-race.js";
import type { ControlledResource, ObjectsApi } from "../controllers/objects-api.js";
import { WorkQueue } from "../controllers/work-queue.js";
import type { ControlPlaneObject } from "./control-plane-index.js";
import { type ControlPlanes, isNotServed } from "./control-planes.js";
import { CONTROL_PLANES, contentFinalizer, controlPlaneGroup } from "./definition.js";

export interface KeeperOptions {
  readonly objects: ObjectsApi;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where clients find it. */
  urlOf(name: string): string;
  /** Without the feed's shortcuts. */
  readonly store: RevisionedStore;
  /** The prefix of all control planes' content. */
  readonly partsPrefix: string;
  /** The prefix of their encryption keys. */
  readonly partKeysPrefix: string;
  /** Clones are made at once, while the state that they are made of is kept. */
  readonly planes: Pick<ControlPlanes, "open">;
}

/** Keys of one transaction: etcd takes 128 operations by default. */
const PIECE_KEYS = 100;
const PAUSE_MS = 500;
/** Control planes at a time: one that is slow to load, or has much that goes, does not hold up the others. */
const WORKERS = 5;
/** A replica that learns of a deletion ends its requests in half of that. */
const LATE_MS = 10_000;
/** Marks the uid of one that is gone in the queue; names have no slash. */
const GONE = "gone/";
const LATE = "late/";

/** Until the signal aborts. */
export async function runKeeper(options: KeeperOptions, signal: AbortSignal): Promise<void> {
  const { objects, naming, clock, logger } = options;
  const resource = objects.resource(controlPlaneGroup(naming), CONTROL_PLANES);
  const queue = new WorkQueue(clock);
  const follower = {
    began() {},
    changed: ({ name = "" }: ObjectMeta) => queue.add(name),
    removed({ uid = "" }: ObjectMeta) {
      if (uid !== "") queue.add(GONE + uid);
    },
  };
  const following = objects.follow(resource, follower, signal);
  const work = async (name: string) => {
    const isGone = name.startsWith(GONE);
    if (!isGone && !name.startsWith(LATE)) return await keep(options, resource, name, signal);
    const uid = name.slice(GONE.length);
    // A reset may have put it back.
    if (objects.list(resource, "").some(({ metadata }) => metadata.uid === uid)) return;
    await removeContent(options, uid, signal);
    if (isGone) queue.add(LATE + uid, LATE_MS);
  };
  const working = queue.run(
    async (name) => {
      try {
        await work(name);
        queue.forget(name);
      } catch (error) {
        if (signal.aborted) return;
        if (!isLostRace(error)) {
          logger.warn({ controlPlane: name, err: error }, "a control plane is looked at again");
        }
        queue.retry(name);
      }
    },
    signal,
    WORKERS,
  );
  await Promise.all([following, working]);
}

async function keep(
  options: KeeperOptions,
  resource: ControlledResource,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const { objects, naming } = options;
  const object = objects.get(resource, { namespace: "", name }) as ControlPlaneObject | undefined;
  if (object === undefined) return;
  const isEnding = object.metadata.deletionTimestamp !== undefined;
  const problem = await begin(options, object);
  const phase = phaseOf(object, problem);
  const url = options.urlOf(name);
  if (object.status?.phase !== phase || object.status.url !== url) {
    const now = formatTime(options.clock.now());
    const status = {
      ...object.status,
      phase,
      url,
      conditions: conditionsOf(object, phase, problem, now),
    };
    await objects.update(resource, { ...object, status } as ControlPlaneObject, "status", signal);
    return;
  }
  await loadOwing(options, object);
  const finalizer = contentFinalizer(naming);
  const { finalizers = [], uid } = object.metadata;
  if (!isEnding || finalizers.length !== 1 || finalizers[0] !== finalizer) return;
  if (uid === undefined) return;
  await removeContent(options, uid, signal);
  const metadata = { ...object.metadata, finalizers: [] };
  await objects.update(resource, { ...object, metadata }, "", signal);
}

/** One that owes work is in memory wherever the keeper is: its loops do the work when the time comes. */
async function loadOwing({ planes }: KeeperOptions, object: ControlPlaneObject): Promise<void> {
  const { metadata, spec, status } = object;
  const isOver = metadata.deletionTimestamp !== undefined || spec?.suspended === true;
  if (status?.owesWork === true && !isOver) await planes.open(metadata.name ?? "");
}

/** @returns why it has no beginning, for good; undefined = it has one, or needs none yet */
async function begin(
  { planes }: KeeperOptions,
  { metadata, spec, status }: ControlPlaneObject,
): Promise<string | undefined> {
  // A control plane that was made suspended begins when it is resumed.
  const isTried = status?.phase !== undefined && status.phase !== "Suspended";
  const isOver = metadata.deletionTimestamp !== undefined || isTried;
  if (spec?.cloneFrom === undefined || spec.suspended === true || isOver) return undefined;
  try {
    await planes.open(metadata.name ?? "");
    return undefined;
  } catch (error) {
    // An error that passes, such as a full memory, is no reason to give it up.
    if (isNotServed(error)) return error.message;
    throw error;
  }
}

function phaseOf({ metadata, spec, status }: ControlPlaneObject, problem: string | undefined) {
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  // Only a clone fails for good, whatever somebody wrote into the status.
  const hasFailed = status?.phase === "Failed" && spec?.cloneFrom !== undefined;
  if (problem !== undefined || hasFailed) return "Failed";
  return spec?.suspended === true ? "Suspended" : "Ready";
}

function conditionsOf(
  { metadata }: ControlPlaneObject,
  phase: string,
  problem: string | undefined,
  now: string,
): readonly object[] {
  const isReady = phase === "Ready";
  return [
    {
      type: "Ready",
      status: isReady ? "True" : "False",
      reason: phase,
      message: problem ?? (isReady ? "Requests are served." : "No requests are served."),
      observedGeneration: metadata.generation,
      lastTransitionTime: now,
    },
  ];
}

/** The key first, as nothing can be read without it. Until two passes, with a pause between them, have found nothing. */
async function removeContent(
  { store, partsPrefix, partKeysPrefix, clock }: KeeperOptions,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  const prefix = `${partsPrefix}${uid}/`;
  const deleteKey = { type: "delete" as const, key: partKeysPrefix + uid };
  for (let empty = 0; empty < 2; ) {
    await store.commit({ compares: [], operations: [deleteKey] }, signal);
    const { kvs } = await store.range({ prefix, limit: PIECE_KEYS }, signal);
    if (kvs.length === 0) {
      empty++;
      if (empty < 2) await clock.sleep(PAUSE_MS, signal);
      continue;
    }
    empty = 0;
    const operations = kvs.map(({ key }) => ({ type: "delete" as const, key }));
    await store.commit({ compares: [], operations }, signal);
    await nextTurn();
  }
}
