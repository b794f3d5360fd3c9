/**
 * Decides what a create stores, from the client's object and the observed state: pure except for
 * admission. The order of checks is that of kube-apiserver:
 *
 *   metadata ─► namespace ─► defaults ─► owners ─► mutate ─► identity, strategy ─► validation
 *     ─► reservations ─► validate ─► is the name free?
 */

import type { Steps } from "../../../storage/base/steps.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject, ObjectMeta } from "../../api/meta.js";
import {
  alreadyExists,
  type FieldError,
  forbidden,
  generatedNameTaken,
  internalError,
  type StatusError,
  stillBeingDeleted,
} from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import {
  dedupeOwners,
  type Identity,
  identify,
  isDeleting,
  prepareMetadataForCreate,
  refuseRevision,
} from "../generic/metadata.js";
import type { Registry, WriteOptions } from "../registry.js";
import {
  admitWrite,
  attributesOf,
  keepIdentity,
  keepOwners,
  reform,
  type WriteAttributes,
} from "./admit.js";
import { parseCurrent } from "./current.js";
import type { Decision, Renamed, Seen } from "./decision.js";
import { contextOf, judgeAndEncode, readAhead, toStored } from "./judge.js";
import { afterCostlySteps, type CostlyWrite, pauseOf } from "./long-write.js";
import { reserve } from "./reservations.js";
import { servedProblems } from "./served-problems.js";
import { storedBytes } from "./stored-bytes.js";
import { hasNamespace, requireNamespace } from "./write-conditions.js";

/** The target of a create. */
export interface CreateTarget {
  readonly resource: StoredResource;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly options: WriteOptions;
  /** Set when an apply merged the input, which then already has its owners. */
  readonly isApplied?: true;
}

export interface NewObject {
  /** Decoded, with defaults, in the served version; will be changed. */
  readonly served: ApiObject;
  /**
   * The name that a POST looked at: the object's own, or a generated one. A mutating plugin may still
   * name the object. Absent when the URL names it.
   */
  readonly proposedName?: string | undefined;
  readonly identity: Identity;
}

/** @throws {StatusError} when the object may not be created */
export function decideCreate(
  registry: Registry,
  target: CreateTarget,
  made: NewObject,
  seen: Seen,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { resource, namespace, options } = target;
  const { refusesCreate } = resource.strategy;
  if (refusesCreate !== undefined) {
    throw forbidden(resource, made.served.metadata.name ?? "", refusesCreate);
  }
  const { provisionNamespace } = registry;
  if (provisionNamespace === undefined || !resource.isNamespaced || options.isDryRun) {
    return decideInNamespace(registry, target, made, seen, signal);
  }
  if (hasNamespace(registry, namespace)) {
    return decideInNamespace(registry, target, made, seen, signal);
  }
  // The transaction still expects no namespace, so it is lost and the create decided anew.
  return provisionNamespace(namespace, signal).then(() =>
    decideInNamespace(registry, target, made, seen, signal),
  );
}

function decideInNamespace(
  registry: Registry,
  target: CreateTarget,
  { served, proposedName, identity }: NewObject,
  { current, write }: Seen,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { resource, namespace, options } = target;
  const { isNamespaced } = resource;
  const { resourceVersion: revision = "" } = served.metadata;
  // An object that an update creates may name the revision of one that is gone.
  const sentRevision = proposedName === undefined ? "" : revision;
  prepareMetadataForCreate(served, { isNamespaced, namespace });
  dedupeOwners(served.metadata, options);
  if (isNamespaced) {
    requireNamespace(registry, resource, namespace, served.metadata.name ?? "");
  }
  const { request } = options;
  const pause = pauseOf(request);
  const ownName = served.metadata.name ?? "";
  const naming = {
    ownName,
    isGiven: proposedName === undefined,
    proposedName: proposedName ?? ownName,
    current,
  };
  const attempt = { registry, target, naming, identity, write, sentRevision, pause, request };
  return afterCostlySteps(attempt, prepared(attempt, served), (made) =>
    admit(attempt, made, signal),
  );
}

/** How a new object comes to its name. */
interface NameSource {
  /** Its own; "" = none. */
  readonly ownName: string;
  /** Whether the URL names it, so that no plugin may. */
  readonly isGiven: boolean;
  readonly proposedName: string;
  /** What the view has under the proposed name. */
  readonly current: StoredObject | undefined;
}

interface Attempt extends CostlyWrite {
  readonly registry: Registry;
  readonly target: CreateTarget;
  readonly naming: NameSource;
  readonly identity: Identity;
  readonly write: object;
  readonly sentRevision: string;
}

/** Runs admission around what finishes the object, which has no identity before it is mutated. */
function admit(
  attempt: Attempt,
  prepared: Prepared,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { registry, target, naming } = attempt;
  const { admission } = registry;
  const { resource, namespace, options } = target;
  if (admission?.handles("CREATE", resource, "") !== true) {
    return afterCostlySteps(attempt, finished(attempt, prepared), (decision) => decision);
  }
  const { ...known } = prepared.object.metadata;
  const about = { resource, subresource: "", namespace, name: naming.ownName, options };
  const attributes = attributesOf(about, prepared.object, undefined);
  attributes.write = attempt.write;
  attributes.pause = attempt.pause;
  const make = (isChanged: boolean): Decision | Promise<Decision> => {
    const changes = { changed: attributes.object, owned: prepared.object, known };
    const steps = isChanged
      ? remade(attempt, changes, attributes)
      : finished(attempt, prepared, attributes);
    return afterCostlySteps(attempt, steps, (decision) => decision);
  };
  return admitWrite(admission, attributes, make, signal);
}

/** Names the object, validates and encodes it. @throws {StatusError} 422 */
function* finished(
  attempt: Attempt,
  { object, errors: facts }: Prepared,
  attributes?: WriteAttributes,
): Steps<Decision> {
  const { registry, target, naming, identity, pause } = attempt;
  const { resource, namespace, options } = target;
  const { isGiven, proposedName, current } = naming;
  yield* readAhead({ resource }, object);
  const name = (isGiven ? "" : object.metadata.name) || proposedName;
  complete(registry, target, object, { name, identity });
  if (attributes !== undefined) {
    attributes.object = object;
    attributes.name ||= name;
  }
  const isRenamed = name !== proposedName;
  const existing = isRenamed
    ? registry.view.partition(resource.partition).get(objectPath(namespace, name))
    : current;
  const renamed = isRenamed ? { name, existing } : undefined;
  yield;
  const candidate = {
    ...{
      registry,
      target,
      name: object.metadata.name ?? "",
      next: object,
      before: undefined,
      facts,
    },
    isLong: pause !== undefined,
  };
  const decision = yield* judgeAndEncode(candidate, encode(attempt, object, existing, renamed));
  return withRevision(decision, attempt.sentRevision, options);
}

/** Gives the object its identity, and lets the strategy prepare it, which may use that. */
function complete(
  registry: Registry,
  target: CreateTarget,
  object: ApiObject,
  given: { readonly name: string; readonly identity: Identity },
): void {
  const { strategy } = target.resource;
  const isCounted = strategy.generationFields !== undefined && strategy.isGenerationLate !== true;
  identify(object.metadata, { ...given, isCounted });
  strategy.prepareForCreate?.(object, contextOf(registry, target));
}

interface Prepared {
  readonly object: ApiObject;
  /** The facts' errors. */
  readonly errors: readonly FieldError[];
}

/** Makes the object of the stored version from the client's. */
function* prepared({ registry, target, pause }: Attempt, served: ApiObject): Steps<Prepared> {
  const { resource, options, isApplied } = target;
  const errors = servedProblems(resource, served);
  const object = toStored(resource, served);
  resource.strategy.prepareForAdmission?.(object, { naming: registry.naming });
  yield;
  if (isApplied === true) return { object, errors };
  // Before admission and the strategy: what they set has no owner.
  const write = { manager: options.fieldManager, subresource: "", isLong: pause !== undefined };
  return { object: yield* registry.ownership.track(resource, undefined, object, write), errors };
}

interface Changed {
  readonly changed: ApiObject;
  /** The object with its owners. */
  readonly owned: ApiObject;
  /** The metadata before admission. */
  readonly known: ObjectMeta;
}

/** Takes over admission's changes, except to server-owned fields. @throws {StatusError} 422, 500 */
function* remade(
  attempt: Attempt,
  { changed, owned, known }: Changed,
  attributes: WriteAttributes,
): Steps<Decision> {
  const { target, pause } = attempt;
  const { resource, options } = target;
  const reformed = yield* reform(resource.storedCodec, changed, owned, pause !== undefined);
  yield;
  const object = keepOwners(reformed, owned, options);
  const { name, resourceVersion = "" } = object.metadata;
  if (resourceVersion !== "") {
    throw internalError("resourceVersion should not be set on objects to be created");
  }
  keepIdentity(object.metadata, known);
  if (name !== undefined) object.metadata.name = name;
  yield;
  const errors = resource.storedCodec.validate(object);
  yield;
  return yield* finished(attempt, { object, errors }, attributes);
}

/** Reserves and encodes. */
function* encode(
  { registry, target, pause }: Attempt,
  object: ApiObject,
  existing: StoredObject | undefined,
  renamed: Renamed | undefined,
): Steps<Decision> {
  const { resource, options } = target;
  const { strategy, storedCodec } = resource;
  const { change, refusal } = reserve(registry, resource, object, undefined, options.isDryRun);
  // A status that clients may not send still gets defaults, which nobody owns.
  const isSettled = resource.conversion?.settle !== undefined;
  if (strategy.hasStatusDefaults === true && !isSettled) storedCodec.applyDefaults(object);
  yield;
  return {
    action: "put",
    object,
    renamed,
    value: yield* storedBytes(registry, resource, object, pause !== undefined),
    reservations: change,
    refusal: existing === undefined ? refusal : nameTaken(resource, object, existing),
  };
}

/** A dry run shows the revision that the client sent. @throws {StatusError} 400 when it is no dry run */
function withRevision(made: Decision, revision: string, { isDryRun }: WriteOptions): Decision {
  if (revision === "") return made;
  if (!isDryRun) refuseRevision(revision);
  else made.object.metadata.resourceVersion = revision;
  return made;
}

function nameTaken(
  resource: StoredResource,
  { metadata: { name = "", generateName = "" } }: ApiObject,
  existing: StoredObject,
): StatusError {
  const taken =
    generateName === "" ? alreadyExists(resource, name) : generatedNameTaken(resource, name);
  return isLeaving(existing) ? stillBeingDeleted(taken) : taken;
}

/** An unreadable object still holds its name. */
function isLeaving(existing: StoredObject): boolean {
  try {
    return isDeleting(parseCurrent(existing));
  } catch {
    return false;
  }
}
