/**
 * runWrite: the only way to write objects. A verb decides what becomes of the current object;
 * everything else is here, once: the look, the proof that no refusal rests on an old state, the end of
 * a dry run, the transaction, and the next attempt.
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
 * If the first decision is a refusal (a precondition, a quota), A asks the store for its revision,
 * sees that the object has moved, and decides again: an attempt that ends without a transaction
 * counts only on a state that was proved fresh. The proof stays valid: the view only moves forward,
 * and a refused transaction proves the state that its compares found.
 */

import type { ExpectedWrite } from "../../../storage/cache/own-writes.js";
import type { Compare, Revision } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { StatusError } from "../../api/status.js";
import { NotConverted } from "../../kinds/conversion.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { Registry } from "../registry.js";
import { asStatus, catchUp, commit, refresh } from "./commit.js";
import type { Decision, Seen } from "./decision.js";
import { movedEpochs } from "./epochs.js";
import { checkIsCurrent } from "./outdated-kind.js";
import { QueuePlaces } from "./queue-places.js";
import { sharedKeyOf } from "./side-writes.js";
import { prepareTransaction, type Refusal, readRefusal } from "./transaction.js";
import { conditionsOf, isSameState } from "./write-conditions.js";
import { outageIn } from "./write-queue.js";

/**
 * Maximum attempts of one write. Each failure means that another write to the same object went
 * through, or that a rule changed. Writers of one replica queue, so this bounds conflicts between
 * replicas. Services that compete for the last addresses of a range need the most attempts.
 */
const ATTEMPTS_MAX = 200;

/** The target of a write, and its verb's functions, which are called without it. */
export interface WritePlan {
  readonly resource: StoredResource;
  /** "" for cluster scope. */
  readonly namespace: string;
  /** Does everything but the transaction (S1-DRY). */
  readonly isDryRun: boolean;
  /** Set when the caller has just proved the view fresh. */
  readonly isProved?: boolean;
  /** Called before each look: a generated name that is taken is replaced. */
  name(): string;
  /**
   * Decides from the current object; pure except for admission. Returns a promise only when it has
   * to wait; "again" when the name that was looked at is taken.
   * @throws {StatusError} to refuse
   */
  decide(seen: Seen, signal: SignalSource): Decision | "again" | Promise<Decision>;
  /** Replaces the error of a failed decision when the current object itself may be the cause; may take several turns. */
  explain?(error: unknown, current: StoredObject): unknown;
  /** The error when other writes won too often. */
  lost(): StatusError;
}

/** The result of a write. */
export interface Outcome {
  readonly decision: Decision;
  /** The object that the decision was based on; undefined = a create. */
  readonly current: StoredObject | undefined;
  /** The revision of the stored state; 0 for a dry run of a create. */
  readonly revision: Revision;
  /** Whether a transaction was committed. */
  readonly isStored: boolean;
  /** The stored object, if known without parsing. */
  readonly stored?: StoredObject | undefined;
}

/** @throws {StatusError} */
export async function runWrite(
  registry: Registry,
  plan: WritePlan,
  signal: SignalSource,
): Promise<Outcome> {
  const places = new QueuePlaces(registry.writeQueue);
  const write: Write = {
    registry,
    signal,
    places,
    resource: plan.resource,
    namespace: plan.namespace,
    isDryRun: plan.isDryRun,
    isProved: plan.isProved === true,
    name: plan.name,
    decide: plan.decide,
    explain: plan.explain,
  };
  let outage: StatusError | undefined;
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const outcome = await tryOnce(write);
      if (outcome !== undefined) {
        if (registry.recorder !== undefined && !plan.isDryRun)
          record(registry, plan, outcome, signal);
        return outcome;
      }
    }
    throw plan.lost();
  } catch (error) {
    outage = outageIn(error, signalOf(signal));
    throw error;
  } finally {
    places.leave(outage);
  }
}

function record(
  { recorder }: Registry,
  { resource, namespace }: WritePlan,
  { decision: { action, object, before }, current, revision, isStored }: Outcome,
  signal: SignalSource,
): void {
  const written = isStored ? action : "same";
  const previousRevision = current?.revision;
  recorder?.wrote(
    resource,
    { namespace, action: written, before, previousRevision, object, revision },
    signal,
  );
}

/** A write under way: of one shape for all verbs, as V8 would optimise the loop anew for each verb's plan. */
interface Write {
  readonly registry: Registry;
  readonly signal: SignalSource;
  readonly places: QueuePlaces;
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly isDryRun: boolean;
  /** Whether the view was proved fresh for this write. */
  isProved: boolean;
  readonly name: WritePlan["name"];
  readonly decide: WritePlan["decide"];
  readonly explain: WritePlan["explain"];
}

/** @returns undefined when it is to be tried again. @throws {StatusError} */
async function tryOnce(write: Write): Promise<Outcome | undefined> {
  const { registry, signal, places, resource, namespace } = write;
  let name = write.name();
  let path = objectPath(namespace, name);
  let key = registry.view.keys.key(resource.partition, path);
  const place = places.queueIfContested(key, signal);
  if (place !== undefined) await place;

  checkIsCurrent(registry.catalog, resource);
  let seen = look(write, path);
  registry.judgement?.check(seen.conditions);
  let decision: Decision;
  try {
    const made = write.decide(seen, signal);
    if (made === "again") return undefined;
    decision = made instanceof Promise ? await made : made;
    if (decision.renamed !== undefined) {
      const { renamed } = decision;
      name = renamed.name;
      path = objectPath(namespace, name);
      key = registry.view.keys.key(resource.partition, path);
      seen = { ...seen, current: renamed.existing };
    }
    if (decision.refusal !== undefined) throw decision.refusal;
  } catch (error) {
    await refuse(write, path, seen, error);
    return undefined;
  }
  if (write.isDryRun || decision.action === "same") {
    const ended = await endUnstored(write, { path, key, seen, decision });
    if (ended !== "outdated") return ended;
  }

  const { current } = seen;
  const change = { resource, namespace, name, current, next: decision };
  const epochs = movedEpochs(registry, change);
  const shared = sharedKeyOf(decision.sideWrites ?? []) ?? epochs[0]?.key;
  const turn = shared === undefined ? undefined : places.queueIfShared(shared, signal);
  if (turn !== undefined) {
    // Admission's attributes are outdated by now.
    await turn;
    return undefined;
  }
  const own: Compare = { key, modRevision: revisionOf(current) };
  const decided = { resource, key, compares: [own, ...seen.conditions], decision, epochs };
  const preparing = prepareTransaction(registry, decided, signal);
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  const expected = expect(registry, key, decision);
  const result = await commit(registry, prepared.transaction, expected, signal);
  const refusal = readRefusal(prepared, result);
  if (refusal !== undefined) {
    await catchUpWith(write, key, refusal);
    return undefined;
  }
  const { revision } = result;
  registry.judgement?.committed();
  // The next write through this replica is then judged by it at the first attempt.
  if (epochs.length > 0) await catchUp(registry, revision).catch(ignore);
  const stored = expected && registry.view.stored(expected, revision);
  return { decision, current, revision, isStored: true, stored };
}

/** Returns when the decision has to be made anew. @throws the error, if the state that it rests on was current */
async function refuse(write: Write, path: string, seen: Seen, error: unknown): Promise<void> {
  if (error instanceof NotConverted) {
    await error.prepare(signalOf(write.signal));
    return;
  }
  const isFinal = write.isProved || !(error instanceof StatusError);
  if (isFinal || (await isStill(write, path, seen))) {
    const { current } = seen;
    throw current === undefined ? error : ((await write.explain?.(error, current)) ?? error);
  }
  write.isProved = true;
}

/**
 * Ends a dry run, and a write of what is stored already.
 * @returns the outcome; undefined when it is to be tried again; "outdated" when the store has another form of it
 */
async function endUnstored(
  write: Write,
  { path, key, seen, decision }: Unstored,
): Promise<Outcome | undefined | "outdated"> {
  const { registry, signal, isDryRun, isProved } = write;
  if (!isDryRun && !(await isStored(registry, decision, key, signal))) return "outdated";
  if (isProved || (await isStill(write, path, seen))) {
    const { current } = seen;
    return { decision, current, revision: revisionOf(current), isStored: false };
  }
  write.isProved = true;
  return undefined;
}

interface Unstored {
  readonly path: string;
  readonly key: string;
  readonly seen: Seen;
  readonly decision: Decision;
}

/** Another write was faster: waits for its turn, and until the view shows what refused this one. */
async function catchUpWith(write: Write, key: string, refusal: Refusal): Promise<void> {
  await queueUp(write.places, key, refusal, write.signal);
  await catchUp(write.registry, refusal.waitFor);
  write.isProved = true;
}

/** Announces the put, so that the feed need not parse it. */
function expect(
  { view }: Registry,
  key: string,
  { action, object, value }: Decision,
): ExpectedWrite | undefined {
  return action === "put" && value !== undefined ? view.expect(key, value, object) : undefined;
}

/** The write is done: a view that lags delays others, but does not fail this answer. */
function ignore(): void {}

/** Joins the queue of the key that conflicted: a shared one, or the object's own. */
async function queueUp(
  places: QueuePlaces,
  key: string,
  { isOwnLost, lostShared }: Refusal,
  signal: SignalSource,
): Promise<void> {
  if (lostShared !== undefined) await places.queueForShared(lostShared, signal);
  else if (isOwnLost) await places.queueForOwn(key, signal);
}

function look(write: Write, path: string): Seen {
  const { registry, resource, namespace } = write;
  return {
    write,
    current: registry.view.partition(resource.partition).get(path),
    conditions: conditionsOf(registry, resource, namespace),
  };
}

/** Brings the view up to date. @returns whether the state it had shown was current */
async function isStill(write: Write, path: string, seen: Seen): Promise<boolean> {
  await refresh(write.registry);
  const now = look(write, path);
  return (
    revisionOf(now.current) === revisionOf(seen.current) &&
    isSameState(now.conditions, seen.conditions)
  );
}

function revisionOf(current: StoredObject | undefined): Revision {
  return current?.revision ?? (0 as Revision);
}

/**
 * Whether nothing has to be written: the store holds the object in today's form. An object under
 * another encryption key, or not yet encrypted, is written all the same.
 */
function isStored(
  { storedForm }: Registry,
  { value }: Decision,
  key: string,
  signal: SignalSource,
): boolean | Promise<boolean> {
  if (storedForm === undefined || value === undefined) return true;
  return asStatus(storedForm.isStale(key, signalOf(signal))).then((isStale) => !isStale);
}
