/**
 * Decides what a create stores, from the client's object and the observed state: pure except for
 * admission. The order of checks is that of kube-apiserver:
 *
 *   metadata ─► namespace ─► defaults ─► owners ─► mutate ─► identity, strategy ─► validation
 *     ─► reservations ─► validate ─► is the name free?
 */

import { oneStep, type Steps } from "../../../storage/base/steps.js";
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
import { admitWrite, attributesOf, keepIdentity, keepOwners, reform } from "./admit.js";
import { parseCurrent } from "./current.js";
import type { Decision, Renamed, Seen } from "./decision.js";
import { afterReadingAhead, type Candidate, contextOf, judgeAndEncode, toStored } from "./judge.js";
import { afterCostlySteps, afterSteps, nextStage, type Pause, pauseOf } from "./long-write.js";
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
  const pause = pauseOf(options.request);
  const naming = { ownName: served.metadata.name ?? "", proposedName, current };
  const finished = (made: Prepared, { existing, renamed }: Found) =>
    afterCostlySteps(
      { pause, request: options.request },
      judgeAndEncode(
        candidateOf({ registry, target, pause }, made),
        encode({ registry, target, pause }, made, existing, renamed),
      ),
      (decision) => withRevision(decision, sentRevision, options),
    );
  return nextStage(pause, prepare(registry, target, served), (made) =>
    afterSteps(pause, withOwners(registry, target, made), (object) =>
      admit(
        { registry, target, naming, identity, write, finished, pause },
        { object, errors: made.errors },
        signal,
      ),
    ),
  );
}

/** How a new object comes to its name. */
interface NameSource {
  /** Its own; "" = none. */
  readonly ownName: string;
  readonly proposedName: string | undefined;
  /** What the view has under the proposed name, or else under its own. */
  readonly current: StoredObject | undefined;
}

/** What the view has under the object's final name. */
interface Found {
  readonly existing: StoredObject | undefined;
  readonly renamed?: Renamed;
}

interface Attempt {
  readonly registry: Registry;
  readonly target: CreateTarget;
  readonly naming: NameSource;
  readonly identity: Identity;
  readonly write: object;
  readonly pause: Pause;
  finished(made: Prepared, found: Found): Decision | Promise<Decision>;
}

/** Runs admission around what finishes the object, which has no identity before it is mutated. */
function admit(
  { registry, target, naming, identity, write, finished, pause }: Attempt,
  prepared: Prepared,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { admission } = registry;
  const { resource, namespace, options } = target;
  const { ownName, proposedName = ownName, current } = naming;
  if (admission?.handles("CREATE", resource, "") !== true) {
    return afterReadingAhead(target, pause, prepared.object, () => {
      complete(registry, target, prepared, { name: proposedName, identity });
      return finished(prepared, { existing: current });
    });
  }
  const { ...known } = prepared.object.metadata;
  const about = { resource, subresource: "", namespace, name: ownName, options };
  const attributes = attributesOf(about, prepared.object, undefined);
  attributes.write = write;
  attributes.pause = pause;
  const finish = (made: Prepared): Decision | Promise<Decision> =>
    afterReadingAhead(target, pause, made.object, () => finishRead(made));
  const finishRead = (made: Prepared): Decision | Promise<Decision> => {
    const isNamedByUrl = naming.proposedName === undefined;
    const name = (isNamedByUrl ? "" : (made.object.metadata.name ?? "")) || proposedName;
    complete(registry, target, made, { name, identity });
    attributes.object = made.object;
    attributes.name ||= name;
    if (name === proposedName) return finished(made, { existing: current });
    const existing = registry.view.partition(resource.partition).get(objectPath(namespace, name));
    return finished(made, { existing, renamed: { name, existing } });
  };
  const make = (isChanged: boolean): Decision | Promise<Decision> => {
    if (!isChanged) return finish(prepared);
    const changes = { changed: attributes.object, owned: prepared.object, known };
    return afterSteps(pause, remake(target, changes), (object) => {
      const errors = resource.storedCodec.validate(object);
      return nextStage(pause, { object, errors }, finish);
    });
  };
  return admitWrite(admission, attributes, make, signal);
}

/** Gives the object its identity, and lets the strategy prepare it, which may use that. */
function complete(
  registry: Registry,
  target: CreateTarget,
  { object }: Prepared,
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
function prepare({ naming }: Registry, { resource }: CreateTarget, served: ApiObject): Prepared {
  const errors = servedProblems(resource, served);
  const object = toStored(resource, served);
  resource.strategy.prepareForAdmission?.(object, { naming });
  return { object, errors };
}

/** Runs before admission and the strategy: what they set has no owner. */
function withOwners(
  registry: Registry,
  { resource, options, isApplied }: CreateTarget,
  { object }: Prepared,
): Steps<ApiObject> {
  if (isApplied === true) return oneStep(object);
  const isLong = pauseOf(options.request) !== undefined;
  const write = { manager: options.fieldManager, subresource: "", isLong };
  return registry.ownership.track(resource, undefined, object, write);
}

interface Changed {
  readonly changed: ApiObject;
  /** The object with its owners. */
  readonly owned: ApiObject;
  /** The metadata before admission. */
  readonly known: ObjectMeta;
}

/** Takes over admission's changes, except to server-owned fields. @throws {StatusError} 500 */
function* remake(
  { resource, options }: CreateTarget,
  { changed, owned, known }: Changed,
): Steps<ApiObject> {
  const isLong = pauseOf(options.request) !== undefined;
  const reformed = yield* reform(resource.storedCodec, changed, owned, isLong);
  yield;
  const object = keepOwners(reformed, owned, options);
  const { name, resourceVersion = "" } = object.metadata;
  if (resourceVersion !== "") {
    throw internalError("resourceVersion should not be set on objects to be created");
  }
  keepIdentity(object.metadata, known);
  if (name !== undefined) object.metadata.name = name;
  return object;
}

function candidateOf(
  { registry, target, pause }: Pick<Attempt, "registry" | "target" | "pause">,
  { object, errors }: Prepared,
): Candidate {
  const { name = "" } = object.metadata;
  const isLong = pause !== undefined;
  return { registry, target, name, next: object, before: undefined, facts: errors, isLong };
}

/** Reserves and encodes. */
function* encode(
  { registry, target, pause }: Pick<Attempt, "registry" | "target" | "pause">,
  { object }: Prepared,
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
