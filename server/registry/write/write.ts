/**
 * runWrite: the one way in which objects are written. A verb says what it makes of the current object;
 * everything else is here, once: the look, the proof that nobody is refused because of an old state,
 * the end of a dry run, the transaction, and the next attempt.
 *
 *   look ─► decide (the verb; admission within) ─► [nothing to write, refused, dry run: prove, answer]
 *     ▲                                              │
 *     │                                              ▼
 *     └── refused: wait for what refused it ◄── commit: object, reservations, side writes, epochs
 *
 * A worked example: two replicas, A and B, and a patch that sets data.b through A.
 *
 *   revision 7   the view of A and the store have the object at 5
 *   A looks      object at 5, namespace at 3; decides {a:1, b:2}
 *   B commits    the object at 8, {a:9}
 *   A commits    "object still at 5, namespace still at 3": refused, the object is at 8
 *   A waits      until its view has reached 8, and looks: {a:9}; decides {a:9, b:2}
 *   A commits    "object still at 8, ...": revision 9
 *
 * Had the first decision been a refusal (a precondition, a quota), then A would have asked the store
 * for its revision first, seen that the object has moved, and decided again: an attempt that ends
 * without a transaction counts only on a state that was proved fresh. Once proved stays proved: the
 * view only moves forward, and a refused transaction proves the state that its compares found.
 */

import type { ExpectedWrite } from "../../../storage/cache/own-writes.js";
import type { CommitResult, Compare, Revision, Transaction } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { StatusError } from "../../api/status.js";
import { NotConverted } from "../../kinds/conversion.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { Registry } from "../generic/registry.js";
import { asStatus, catchUp, commit, refresh } from "./commit.js";
import type { Decision, Seen } from "./decision.js";
import { movedEpoch } from "./epochs.js";
import { conditionsOf, isSameState } from "./judged-by.js";
import { checkIsCurrent } from "./outdated-kind.js";
import { QueuePlaces } from "./queue-places.js";
import { sharedKeyOf } from "./side-writes.js";
import { prepareTransaction, type Refusal, readRefusal } from "./transaction.js";
import { outageIn } from "./write-queue.js";

/**
 * Attempts of one write. Each that fails means that another write to the same went through, or that a
 * rule changed; writers of one replica queue up, so this is about writers of other replicas. Services
 * that race for the last addresses of a range need the most: an attempt each that is lost.
 */
const ATTEMPTS_MAX = 200;

/** What a write is about, and what its verb makes of it. */
export interface WritePlan {
  readonly resource: StoredResource;
  /** "" for cluster scope. */
  readonly namespace: string;
  /** Everything but the transaction (S1-DRY). */
  readonly isDryRun: boolean;
  /** Set when the caller has just proved the view fresh. */
  readonly isProved?: boolean;
  /** Asked before each look: a generated name that is taken is replaced. */
  name(): string;
  /**
   * Makes a decision from the current object; pure but for what admission does. A promise only where
   * something has to be waited for; "again" where the look was at a name that is not to be had.
   * @throws {StatusError} to refuse
   */
  decide(seen: Seen, signal: SignalSource): Decision | "again" | Promise<Decision>;
  /** What to say of a failed decision, where the current object itself may be the reason. */
  explain?(error: unknown, current: StoredObject): unknown;
  /** What the client hears when others went first too often. */
  lost(): StatusError;
}

/** What became of a write. */
export interface Outcome {
  readonly decision: Decision;
  /** What it was decided on; undefined = it creates. */
  readonly current: StoredObject | undefined;
  /** Of the stored state; 0 for a dry run of a create. */
  readonly revision: Revision;
  /** Whether a transaction was committed. */
  readonly isStored: boolean;
  /** What it has put, where that is known without reading it. */
  readonly stored?: StoredObject | undefined;
}

/** @throws {StatusError} */
export async function runWrite(
  registry: Registry,
  plan: WritePlan,
  signal: SignalSource,
): Promise<Outcome> {
  const places = new QueuePlaces(registry.writeQueue);
  let outage: StatusError | undefined;
  try {
    return await tryUntilDone(registry, plan, places, signal);
  } catch (error) {
    outage = outageIn(error, signalOf(signal));
    throw error;
  } finally {
    places.leave(outage);
  }
}

async function tryUntilDone(
  registry: Registry,
  plan: WritePlan,
  places: QueuePlaces,
  signal: SignalSource,
): Promise<Outcome> {
  const { resource, namespace, isDryRun } = plan;
  let isProved = plan.isProved === true;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const name = plan.name();
    const path = objectPath(namespace, name);
    const key = registry.view.keys.key(resource.partition, path);
    const place = places.queueIfContested(key, signal);
    if (place !== undefined) await place;

    checkIsCurrent(registry.catalog, resource);
    const seen = look(registry, plan, path);
    const { current } = seen;
    let decision: Decision;
    try {
      const made = plan.decide(seen, signal);
      if (made === "again") continue;
      decision = made instanceof Promise ? await made : made;
      if (decision.refusal !== undefined) throw decision.refusal;
    } catch (error) {
      if (error instanceof NotConverted) {
        await error.prepare(signalOf(signal));
        continue;
      }
      const isFinal = isProved || !(error instanceof StatusError);
      if (isFinal || (await isStill(registry, plan, path, seen))) {
        throw current === undefined ? error : (plan.explain?.(error, current) ?? error);
      }
      isProved = true;
      continue;
    }
    if (isDryRun || (await isStored(registry, decision, key, signal))) {
      if (isProved || (await isStill(registry, plan, path, seen))) {
        return { decision, current, revision: revisionOf(current), isStored: false };
      }
      isProved = true;
      continue;
    }

    const change = { resource, namespace, name, current };
    const epoch = movedEpoch(registry, { ...change, next: decision });
    const shared = sharedKeyOf(decision.sideWrites ?? []) ?? epoch?.key;
    const turn = shared === undefined ? undefined : places.queueIfShared(shared, signal);
    if (turn !== undefined) {
      // What admission asked for is old by now.
      await turn;
      continue;
    }
    const own: Compare = { key, modRevision: revisionOf(current) };
    const decided = { resource, key, compares: [own, ...seen.conditions], decision, epoch };
    const preparing = prepareTransaction(registry, decided, signal);
    const prepared = preparing instanceof Promise ? await preparing : preparing;
    const expected = expect(registry, key, decision);
    const result = await commitExpected(registry, prepared.transaction, expected, signal);
    const refusal = readRefusal(prepared, result);
    if (refusal === undefined) {
      // What comes next through this replica is judged by it at the first try.
      if (epoch !== undefined) await catchUp(registry, result.revision).catch(ignore);
      const { revision } = result;
      const stored = expected && registry.view.stored(expected, revision);
      return { decision, current, revision, isStored: true, stored };
    }
    await queueUp(places, key, refusal, signal);
    await catchUp(registry, refusal.waitFor);
    isProved = true;
  }
  throw plan.lost();
}

/** The feed will bring what is put, and need not parse it. */
function expect(
  { view }: Registry,
  key: string,
  { action, object, value }: Decision,
): ExpectedWrite | undefined {
  return action === "put" && value !== undefined ? view.expect(key, value, object) : undefined;
}

/** What is refused, or whose end is unknown, is expected no longer. @throws {StatusError} */
async function commitExpected(
  registry: Registry,
  transaction: Transaction,
  expected: ExpectedWrite | undefined,
  signal: SignalSource,
): Promise<CommitResult> {
  let isDone = false;
  try {
    const result = await commit(registry, transaction, signal);
    isDone = result.succeeded;
    return result;
  } finally {
    if (!isDone && expected !== undefined) registry.view.ownWrites.drop(expected);
  }
}

/** The write is done: a view that does not catch up makes others wait, and not this answer fail. */
function ignore(): void {}

/** Joins the queue of what was in the way: one shared key, or the object itself. */
async function queueUp(
  places: QueuePlaces,
  key: string,
  { isOwnLost, lostShared }: Refusal,
  signal: SignalSource,
): Promise<void> {
  if (lostShared !== undefined) await places.queueForShared(lostShared, signal);
  else if (isOwnLost) await places.queueForOwn(key, signal);
}

function look(registry: Registry, { resource, namespace }: WritePlan, path: string): Seen {
  return {
    current: registry.view.partition(resource.partition).get(path),
    conditions: conditionsOf(registry, resource, namespace),
  };
}

/** Brings the view up to date. @returns whether it had shown what there is */
async function isStill(
  registry: Registry,
  plan: WritePlan,
  path: string,
  seen: Seen,
): Promise<boolean> {
  await refresh(registry);
  const now = look(registry, plan, path);
  return (
    revisionOf(now.current) === revisionOf(seen.current) &&
    isSameState(now.conditions, seen.conditions)
  );
}

function revisionOf(current: StoredObject | undefined): Revision {
  return current?.revision ?? (0 as Revision);
}

/**
 * Whether nothing has to be written: the store holds the object, and in the form that it would be given
 * today. With another key, or encrypted at last, it is written all the same.
 */
function isStored(
  { storedForm }: Registry,
  { action, value }: Decision,
  key: string,
  signal: SignalSource,
): boolean | Promise<boolean> {
  if (action !== "same") return false;
  if (storedForm === undefined || value === undefined) return true;
  return asStatus(storedForm.isStale(key, signalOf(signal))).then((isStale) => !isStale);
}
