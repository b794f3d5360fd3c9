/**
 * Decides what an update stores, from the current object and the client's desired one: pure except
 * for admission. The loop commits the decision, or asks again with a newer current object.
 *
 *   the current object ─► the desired one ─► preconditions, facts, strategy, owners (`prepared`) ─► mutate
 *     ─► the same with what plugins changed (`remade`) ─► validation ─► reservations ─► bytes (`finished`) ─► validate
 *
 * Between two arrows, and at each `yield`, the write of a large object may end its turn (long-write.ts).
 */

import { finishNow, oneStep, type Steps } from "../../../storage/base/steps.js";
import { spliceResourceVersion } from "../../../storage/objects/resource-version.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { deepEqual, equalInSteps } from "../../api/deep-equal.js";
import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { conflict, type FieldError, invalid } from "../../api/status.js";
import { keepTimesIfSame } from "../../apply/keep-times.js";
import {
  isOwnShape,
  kindVersionOf,
  partOf,
  type StoredResource,
} from "../../kinds/served-resource.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import { parseInSteps, parseJson } from "../../schema/parse-json.js";
import {
  dedupeOwners,
  fillNamespace,
  isDeleting,
  prepareMetadataForUpdate,
} from "../generic/metadata.js";
import { withOwnersOf } from "../generic/ownership.js";
import type { Registry, WriteOptions } from "../registry.js";
import { admitWrite, attributesOf, keepIdentity, keepOwners, reform } from "./admit.js";
import { parseCurrentInSteps } from "./current.js";
import type { Decision, Found } from "./decision.js";
import { contextOf, judgeAndEncode, readAhead, toStored } from "./judge.js";
import {
  afterCostlySteps,
  afterSteps,
  type CostlyWrite,
  type Pause,
  pauseOf,
} from "./long-write.js";
import { changeOf, reserve } from "./reservations.js";
import { servedProblems } from "./served-problems.js";
import { storedBytes } from "./stored-bytes.js";

export interface UpdateTarget {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  /** "" = the object itself. */
  readonly subresource: string;
  readonly options: WriteOptions;
  /** Set when an apply merged the desired object, which then already has its owners. */
  readonly isApplied?: true;
  /** Set when the client sent the whole object, so that its uid is a precondition. */
  readonly isReplaced?: true;
  /** Called once the preconditions hold. @throws {StatusError} for what the object says of its kind */
  readonly judgeSent?: () => void;
}

/**
 * Makes the client's desired object from the current one, in its served or stored version, for a
 * decoded body, a patch or an apply. The caller may change the arguments' results.
 */
export type MakeNext = (
  served: () => Steps<ApiObject>,
  stored: () => Steps<ApiObject>,
  pause: Pause,
) => ApiObject | Promise<ApiObject>;

/**
 * Returns a promise only when admission has to wait; nothing of the view is held meanwhile.
 * @throws {StatusError} when the client may not make this change
 */
export function decideUpdate(
  registry: Registry,
  target: UpdateTarget,
  found: Found,
  makeNext: MakeNext,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { resource } = target;
  const { current, write } = found;
  const { request } = target.options;
  const pause = pauseOf(request, current.bytes.length);
  return afterSteps(pause, storedToday(resource, current, pause), (before) => {
    const made = makeNext(
      () => servedObject(resource, current, pause),
      () => parseCurrentInSteps(current, pause),
      pause,
    );
    const decide = (served: ApiObject) => {
      const attempt = { registry, target, current, write, before, served, pause, request };
      return afterCostlySteps(attempt, prepared(attempt), (owned) => admit(attempt, owned, signal));
    };
    return made instanceof Promise ? made.then(decide) : decide(made);
  });
}

/** What goes to admission. @throws {StatusError} a precondition does not hold */
function* prepared(attempt: Attempt): Steps<Owned> {
  const { target, served, before, current } = attempt;
  const { resource } = target;
  checkPreconditions(target, served, before, current);
  fillNamespace(served.metadata, resource.isNamespaced, target.namespace);
  target.judgeSent?.();
  const { resourceVersion: sentRevision = "", ...metadata } = served.metadata;
  served.metadata = metadata;
  dedupeOwners(served.metadata, target.options);
  yield;
  const errors = servedProblems(resource, served);
  const sent = isOwnShape(resource) ? served : toStored(resource, served);
  yield* readAhead(target, sent);
  yield;
  const next = prepare(attempt, sent);
  yield;
  // Before admission: fields set by plugins have no owner.
  return { sent, sentRevision, next: yield* withOwners(attempt, next), errors };
}

interface Owned {
  /** What the client sent, in the stored version or in the subresource's own shape. */
  readonly sent: ApiObject;
  /** The resourceVersion that the client sent; "" = none. */
  readonly sentRevision: string;
  /** The object to store, with its owners. */
  readonly next: ApiObject;
  /** The facts' errors. */
  readonly errors: readonly FieldError[];
}

/** Runs admission around what finishes the object. */
function admit(
  attempt: Attempt,
  { sent, sentRevision, next, errors }: Owned,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { registry, target, current, before } = attempt;
  const { resource } = target;
  const { admission } = registry;
  if (admission === undefined) {
    return afterCostlySteps(attempt, finished(attempt, next, errors), (decision) => decision);
  }
  const hasOwnShape = isOwnShape(resource);
  const attributes = hasOwnShape
    ? attributesOf(target, sent, finishNow(servedObject(resource, current, undefined)))
    : attributesOf(target, next, before);
  if (target.subresource !== "" && !hasOwnShape) attributes.sent = sent;
  attributes.write = attempt.write;
  attributes.pause = attempt.pause;
  // What an apply does not say is as it was.
  attributes.sentRevision =
    target.isApplied === true && sentRevision === "" ? String(current.revision) : sentRevision;
  attributes.oldRevision = String(current.revision);
  const make = (isChanged: boolean): Decision | Promise<Decision> => {
    attributes.sentRevision = attributes.oldRevision;
    const steps = isChanged
      ? remade(attempt, attributes.object, next)
      : finished(attempt, next, errors);
    return afterCostlySteps(attempt, steps, (decision) => {
      if (!hasOwnShape) attributes.object = decision.object;
      return decision;
    });
  };
  return admitWrite(admission, attributes, make, signal);
}

/** One attempt of an update. */
interface Attempt extends CostlyWrite {
  readonly registry: Registry;
  readonly target: UpdateTarget;
  readonly current: StoredObject;
  readonly write: object;
  readonly before: ApiObject;
  /** The client's desired object in the served version. */
  readonly served: ApiObject;
}

/** The object to store, prepared by the strategy. @throws {StatusError} 422 */
function prepare({ registry, target, before }: Attempt, sent: ApiObject): ApiObject {
  const { resource } = target;
  const { strategy } = resource;
  const part = partOf(resource);
  const context = contextOf(registry, target);
  const next =
    part === undefined ? keepOtherParts(target, sent, before) : part.merge(sent, before, context);
  prepareMetadataForUpdate(next.metadata, before.metadata);
  strategy.prepareForUpdate?.(next, before, context);
  return next;
}

/** The object with the field owners after this write. */
function withOwners(
  { registry, target, before, served, pause }: Attempt,
  next: ApiObject,
): Steps<ApiObject> {
  const { resource, subresource, options, isApplied } = target;
  if (isApplied === true) return oneStep(withOwnersOf(next, served));
  const write = { manager: options.fieldManager, subresource, isLong: pause !== undefined };
  return registry.ownership.track(resource, before, next, write);
}

/**
 * Takes over admission's changes, as far as this request may make them.
 * @param owned the object with its owners. @throws {StatusError}
 */
function* remade(attempt: Attempt, changed: ApiObject, owned: ApiObject): Steps<Decision> {
  const { target, current, pause } = attempt;
  const { resource } = target;
  const codec = isOwnShape(resource) ? resource.codec : resource.storedCodec;
  const sent = yield* reform(codec, changed, owned, pause !== undefined);
  // The new object may share parts with the old one, so those may have changed as well.
  const before = yield* storedToday(resource, current, pause);
  yield;
  keepIdentity(sent.metadata, before.metadata);
  const fresh = { ...attempt, before };
  yield* readAhead(target, sent);
  const next = prepare(fresh, sent);
  const kept = isOwnShape(resource)
    ? withOwnersOf(next, owned)
    : keepOwners(next, owned, target.options);
  yield;
  const errors = codec.validate(sent);
  yield;
  return yield* finished(fresh, kept, errors);
}

/** Validates and encodes. @throws {StatusError} 422 */
function* finished(
  attempt: Attempt,
  owned: ApiObject,
  facts: readonly FieldError[],
): Steps<Decision> {
  const { registry, target, before, pause } = attempt;
  const isLong = pause !== undefined;
  const next = target.isApplied === true ? yield* keepTimesIfSame(before, owned, isLong) : owned;
  const candidate = { registry, target, name: target.name, next, before, facts, isLong };
  return yield* judgeAndEncode(candidate, encode(attempt, next));
}

function* encode(attempt: Attempt, next: ApiObject): Steps<Decision> {
  const { registry, target, before } = attempt;
  const { resource } = target;
  const { change, refusal } = reserve(registry, resource, next, before, target.options.isDryRun);
  yield;
  const { action, object, value } = yield* encodeNext(attempt, next);
  if (action !== "remove") return { action, object, value, before, reservations: change, refusal };
  const reservations = changeOf(registry, resource, undefined, before);
  return { action, object, value, before, reservations };
}

/** A copy of the current object, converted to today's stored version and schema. */
function* storedToday(
  { conversion }: StoredResource,
  current: StoredObject,
  pause: Pause,
): Steps<ApiObject> {
  const stored = yield* parseCurrentInSteps(current, pause);
  return conversion?.renew === undefined ? stored : conversion.renew(stored, current.revision);
}

/** A copy of the current object for a patch. */
function* servedObject(
  resource: StoredResource,
  current: StoredObject,
  pause: Pause,
): Steps<ApiObject> {
  const { conversion, kind } = resource;
  const stored = yield* parseCurrentInSteps(current, pause);
  const served = conversion === undefined ? stored : conversion.fromStored(stored);
  if (conversion !== undefined) {
    // Conversions cover an object's content; a patch also sees its apiVersion and kind.
    served.apiVersion = formatGroupVersion(kindVersionOf(resource));
    served.kind = kind;
  }
  served.metadata.resourceVersion = String(current.revision);
  return served;
}

/**
 * The body's name, uid and resourceVersion are preconditions (S1-CRUD-03, S1-CRUD-04, S1-META-07).
 */
function checkPreconditions(
  { resource, name, isReplaced, isApplied }: UpdateTarget,
  { metadata }: ApiObject,
  before: ApiObject,
  current: StoredObject,
): void {
  const { uid = "", resourceVersion = "" } = metadata;
  if (isReplaced === true && uid !== "" && uid !== before.metadata.uid) {
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
    );
  }
  if (resourceVersion === "" || resourceVersion === "0") {
    // A configuration is merged with any current object; only a version in it is a precondition.
    if (isApplied === true || resource.strategy.allowUnconditionalUpdate !== false) return;
    // Nor does a part in its own shape replace anything else.
    if (isOwnShape(resource)) return;
    const why = "must be specified for an update";
    // Clients know this refusal by the resource; others name the kind.
    const subject = { group: resource.group, kind: resource.resource };
    throw invalid(subject, name, [invalidValue("metadata.resourceVersion", 0, why)]);
  }
  if (resourceVersion === String(current.revision)) return;
  if (!/^\d+$/.test(resourceVersion)) {
    const why = "must be a resource version that the server gave";
    throw invalid(resource, name, [invalidValue("metadata.resourceVersion", resourceVersion, why)]);
  }
  throw conflict(resource, name);
}

/**
 * The main resource does not change the status; the status subresource changes nothing else
 * (S1-CRUD-08).
 */
function keepOtherParts(
  { resource, subresource }: UpdateTarget,
  next: ApiObject,
  before: ApiObject,
): ApiObject {
  if (subresource === "status") {
    // An apply and a plugin leave null here: of a status an apply takes all that it had given.
    const emptied = before.status === undefined ? undefined : {};
    const status = next.status === null ? emptied : next.status;
    const { status: _, ...rest } = before;
    return { ...rest, metadata: next.metadata, ...(status !== undefined && { status }) };
  }
  if (resource.subresources.has("status")) {
    if (before.status === undefined) delete next.status;
    else next.status = before.status;
  }
  return next;
}

function* encodeNext(attempt: Attempt, next: ApiObject): Steps<Decision> {
  const { registry, target, before, current, pause } = attempt;
  const { resource, subresource } = target;
  const isLong = pause !== undefined;
  let value = yield* storedBytes(registry, resource, next, isLong);
  const isSame = isSameValue(value, next.metadata.uid ?? "", current);
  // Some types count their annotations too, which a status write may carry. Where a pod runs is counted of none.
  const isCounted = !isSame && subresource !== "status" && subresource !== "binding";
  if (isCounted && (yield* hasNewGeneration(resource, { next, before, value, isLong }))) {
    next.metadata.generation = (before.metadata.generation ?? 0) + 1;
    yield;
    value = yield* storedBytes(registry, resource, next, isLong);
  }
  if (isFinished(resource, next)) return { object: next, value, action: "remove" };
  return { object: next, value, action: isSame ? "same" : "put" };
}

/** Compares the encodings of the new value and the stored one. */
function isSameValue(value: Buffer, uid: string, { bytes, revision }: StoredObject): boolean {
  // Almost every change changes the length, so comparing it first saves making the text.
  const added = `,"resourceVersion":"${revision}"\n`.length;
  if (uid !== "" && bytes.length !== value.length + added) return false;
  return spliceResourceVersion(value, uid, revision).equals(bytes);
}

interface Encoded {
  readonly next: ApiObject;
  readonly before: ApiObject;
  readonly value: Buffer;
  readonly isLong: boolean;
}

/** Whether a counted field changes in the stored form (S1-META-19). */
function* hasNewGeneration(
  { strategy }: StoredResource,
  { next, before, value, isLong }: Encoded,
): Steps<boolean> {
  const fields = generationFields(strategy, next, before);
  const suspects = isLong
    ? yield* changedInSteps(fields, next, before)
    : fields.filter((path) => !deepEqual(fieldOf(next, path), fieldOf(before, path)));
  if (suspects.length === 0) return false;
  // Defaults and empty values have several equal spellings, so the stored forms are compared.
  const parsed = isLong ? yield* parseInSteps(value.toString("utf8")) : parseJson(value);
  const stored = parsed as unknown as ApiObject;
  if (isLong) return (yield* changedInSteps(suspects, stored, before)).length > 0;
  return suspects.some((path) => !deepEqual(fieldOf(stored, path), fieldOf(before, path)));
}

function* changedInSteps(
  paths: readonly string[],
  next: ApiObject,
  before: ApiObject,
): Steps<string[]> {
  const changed: string[] = [];
  for (const path of paths) {
    if (!(yield* equalInSteps(fieldOf(next, path), fieldOf(before, path)))) changed.push(path);
  }
  return changed;
}

function generationFields(
  { generationFields: fields = [] }: ResourceStrategy,
  next: ApiObject,
  before: ApiObject,
): readonly string[] {
  if (!("allBut" in fields)) return fields;
  const names = new Set([...Object.keys(next), ...Object.keys(before)]);
  for (const name of [...COMMON_FIELDS, ...fields.allBut]) names.delete(name);
  return [...names];
}

const COMMON_FIELDS = ["kind", "apiVersion", "metadata"];

function fieldOf(object: ApiObject, path: string): unknown {
  if (path === "metadata.annotations") return object.metadata.annotations;
  return path === "metadata.labels" ? object.metadata.labels : object[path];
}

/** An object in deletion without anything left to hold it (S1-DEL-10). */
export function isFinished({ strategy }: StoredResource, object: ApiObject): boolean {
  if (!isDeleting(object)) return false;
  if ((object.metadata.finalizers?.length ?? 0) > 0) return false;
  if (strategy.isRemovable?.(object) === false) return false;
  return Number(object.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}
