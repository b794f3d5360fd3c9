/**
 * Update: PUT and PATCH of an object or of one of its subresources. Starts from the view; the
 * store's compare decides. Whatever ends without a write (refusal, nothing to change) is only
 * answered on a state that was proved fresh.
 */
import type { Compare, Operation } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { badRequest, conflict, notFound, StatusError } from "../../api/status.js";
import { ClaimRound } from "./claims.js";
import { asStatus, commit, putOperation, refresh } from "./commit.js";
import { CompanionRound } from "./companions.js";
import { createObject } from "./create.js";
import { decodeInput, type ObjectInput, type RefuseInput } from "./decode-input.js";
import { type MakeNext, type NextObject, nextObject, type UpdateTarget } from "./next-object.js";
import {
  type CurrentObject,
  currentOfStore,
  currentOfView,
  orUnreadable,
  servedBytes,
  servedCurrent,
  servedUnstored,
} from "./objects.js";
import type { ObjectResult, Registry, WriteOptions } from "./registry.js";
import { type EndTurn, outageIn, type WriteTurns } from "./write-turns.js";

export type { UpdateTarget } from "./next-object.js";

/**
 * Tries of one write against others to the same object. Every failed try means that another write
 * went through; writers of one replica take turns, so this is about writers of other replicas.
 */
const ATTEMPTS_MAX = 100;

export interface ReplaceTarget extends UpdateTarget {
  readonly input: ObjectInput;
  /** Asked before a PUT creates, which is another permission than to update. @throws to refuse */
  readonly authorizeCreate?: () => Promise<void>;
}

export interface PatchTarget extends UpdateTarget {
  readonly patch: (current: JsonValue) => JsonValue;
  /** The answer when the result of the patch is no such object; absent = that to a bad body. */
  readonly refuseResult?: (result: JsonValue) => RefuseInput;
  /** What a strict reader says about the text of the patch itself. */
  readonly remarks?: readonly string[];
}

/** Replaces an object, or creates it where the type allows (S1-GEN-18). @throws {StatusError} */
export async function updateObject(
  registry: Registry,
  target: ReplaceTarget,
  signal: AbortSignal,
): Promise<ObjectResult> {
  const { resource, name, subresource, options, input } = target;
  // Decoded at once, so that a bad body is refused before anything is looked up; decoded again only
  // when another writer came in between, as preparing changes it.
  let decoded: ApiObject | undefined = decodeInput(resource, input, options);
  refuseOtherName(decoded, name);
  const quiet = { ...options, warn() {} };
  const makeNext: MakeNext = () => {
    const next = decoded ?? decodeInput(resource, input, quiet);
    decoded = undefined;
    return next;
  };
  const update = { ...target, isReplaced: true as const };
  const result = await updateIfThere(registry, update, makeNext, signal);
  if (result !== undefined) return result;
  if (resource.strategy.allowCreateOnUpdate !== true || subresource !== "") {
    throw notFound(resource, name);
  }
  await target.authorizeCreate?.();
  // What is wrong with the body has been said; what admission says has not.
  const told = { ...options, fieldValidation: "Ignore" as const };
  return await createObject(registry, { ...target, options: told }, signal);
}

/**
 * Changes an object by a patch: a pure function of its JSON in the served version. It runs again for
 * each state that the object turns out to have. @throws {StatusError}
 */
export async function patchObject(
  registry: Registry,
  target: PatchTarget,
  signal: AbortSignal,
): Promise<ObjectResult> {
  const { resource, name, options, patch, refuseResult, remarks = [] } = target;
  const makeNext: MakeNext = (current) => {
    const value = patch(current() as unknown as JsonValue);
    const input = { value, duplicateFields: [], remarks, refuse: refuseResult?.(value) };
    const next = decodeInput(resource, input, options);
    refuseOtherName(next, name);
    return next;
  };
  const result = await updateIfThere(registry, target, makeNext, signal);
  if (result === undefined) throw notFound(resource, name);
  return result;
}

/** The name of the URL is that of the object. @throws {StatusError} 400 */
export function refuseOtherName({ metadata }: Pick<ApiObject, "metadata">, name: string): void {
  const sent = metadata.name ?? "";
  if (sent === name) return;
  throw badRequest(
    sent === ""
      ? `the name of the object (${name} based on URL) was undeterminable: resource name may not be empty`
      : `the name of the object (${sent}) does not match the name on the URL (${name})`,
  );
}

/**
 * Writes what `makeNext` makes of the current object, as often as it takes.
 * @returns undefined when there is no such object, which was proved. @throws {StatusError}
 */
export async function updateIfThere(
  registry: Registry,
  target: UpdateTarget,
  makeNext: MakeNext,
  signal: AbortSignal,
): Promise<ObjectResult | undefined> {
  const { resource, namespace, name } = target;
  const key = registry.view.keys.key(resource.partition, objectPath(namespace, name));
  const turn = new Turn(registry.writeTurns, key);
  const companions = new CompanionRound(registry.writeTurns);
  let outage: StatusError | undefined;
  try {
    if (turn.isContested) await turn.take(signal);
    return await tryUntilWritten(registry, target, makeNext, { turn, companions }, signal);
  } catch (error) {
    outage = outageIn(error, signal);
    throw error;
  } finally {
    companions.end(outage);
    turn.end(outage);
  }
}

/** This write's turn on its key, taken at most once. */
class Turn {
  readonly key: string;
  readonly #turns: WriteTurns | undefined;
  #end: EndTurn | undefined;

  constructor(turns: WriteTurns | undefined, key: string) {
    this.#turns = turns;
    this.key = key;
  }

  get isContested(): boolean {
    return this.#turns?.isContested(this.key) === true;
  }

  /** @returns whether it had to be taken now, so that time has passed */
  async take(signal: AbortSignal): Promise<boolean> {
    if (this.#turns === undefined || this.#end !== undefined) return false;
    this.#end = await this.#turns.take(this.key, signal);
    return true;
  }

  /** @param outage goes to those who wait behind */
  end(outage: StatusError | undefined): void {
    this.#end?.(outage);
  }
}

async function tryUntilWritten(
  registry: Registry,
  target: UpdateTarget,
  makeNext: MakeNext,
  { turn, companions }: { readonly turn: Turn; readonly companions: CompanionRound },
  signal: AbortSignal,
): Promise<ObjectResult | undefined> {
  const { resource, namespace, name, options } = target;
  const { key } = turn;
  const claims = new ClaimRound(registry, resource);
  const partition = registry.view.partition(resource.partition);
  const path = objectPath(namespace, name);
  let isProved = false;

  const look = (): CurrentObject | undefined => {
    const found = partition.get(path);
    return found === undefined ? undefined : currentOfView(found);
  };
  /** Whether the view showed the object as it is now; sets `current` to what it is. */
  const isStill = async (): Promise<boolean> => {
    const revision = current?.revision;
    await refresh(registry);
    current = look();
    isProved = true;
    return current?.revision === revision;
  };

  let current = look();
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (current === undefined) {
      if (isProved || (await isStill())) return undefined;
      continue;
    }
    let next: NextObject;
    try {
      const made = nextObject(registry, { ...target, claims }, current, makeNext, signal);
      next = made instanceof Promise ? await made : made;
    } catch (error) {
      const seen: CurrentObject = current;
      if (!(error instanceof StatusError) || isProved || (await isStill())) {
        throw orUnreadable(error, resource, seen);
      }
      continue;
    }
    const isSame = next.action === "same" && !(await isStale(registry, options, key, signal));
    if (isSame || options.isDryRun) {
      if (!isProved && !(await isStill())) continue;
      if (options.isDryRun && claims.rehearse(next.claims)) continue;
      return answerUnwritten(target, next, current);
    }
    const otherTurn = companions.take(next.companions, signal);
    if (otherTurn !== undefined) {
      await otherTurn;
      current = newer(current, look());
      continue;
    }
    const compare: Compare = { key, modRevision: current.revision };
    const operation: Operation =
      next.action === "remove"
        ? { type: "delete", key }
        : await putOperation(registry, { resource, key, ...next }, signal);
    const compares = [compare, ...next.claims.compares];
    const operations = [operation, ...next.claims.operations];
    const transaction = companions.join({ compares, operations });
    const result = await commit(registry, transaction, signal);
    const settled = companions.settle(result, compares.length, signal);
    if (settled !== undefined) await settled;
    if (result.succeeded) {
      const { revision } = result;
      const { object, value } = next;
      const bytes = servedBytes(resource, value, object.metadata.uid ?? "", revision);
      return { status: 200, bytes, stored: object, revision };
    }
    const [now, ...held] = result.current.slice(0, compares.length);
    claims.learn(next.claims, held);
    current = now === undefined ? undefined : currentOfStore(now, path);
    isProved = true;
    // Turns are taken in one order, the object's before that of what goes with it.
    if (settled !== undefined || (!companions.hasTurn && (await turn.take(signal)))) {
      // Others went first meanwhile: what the store told us then is old by now.
      current = newer(current, look());
      isProved = false;
    }
  }
  throw conflict(resource, name);
}

/** Whether what would not change is to be written all the same: with another key, or encrypted at last. */
async function isStale(
  { storedForm }: Registry,
  { isDryRun }: WriteOptions,
  key: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (storedForm === undefined || isDryRun) return false;
  return await asStatus(storedForm.isStale(key, signal));
}

/** The view may be behind what the store answered, or ahead of it. */
function newer(
  told: CurrentObject | undefined,
  seen: CurrentObject | undefined,
): CurrentObject | undefined {
  if (told === undefined || seen === undefined) return seen ?? told;
  return seen.revision > told.revision ? seen : told;
}

function answerUnwritten(
  { resource }: UpdateTarget,
  { object, action }: NextObject,
  current: CurrentObject,
): ObjectResult {
  const { revision } = current;
  const bytes =
    action === "same"
      ? servedCurrent(resource, current)
      : servedUnstored(resource, object, revision);
  return { status: 200, bytes, stored: object, revision };
}
