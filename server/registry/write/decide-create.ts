/**
 * Decides what a create stores, from the client's object and the observed state: pure except for
 * admission. The order of checks is that of the existing API:
 *
 *   metadata ─► namespace ─► defaults, strategy ─► owners ─► mutate ─► validation ─► reservations
 *     ─► validate ─► is the name free?
 */

import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject, ObjectMeta } from "../../api/meta.js";
import { collectProblems } from "../../api/problems.js";
import {
  alreadyExists,
  type FieldError,
  generatedNameTaken,
  invalid,
  type StatusError,
  stillBeingDeleted,
} from "../../api/status.js";
import { validateMetadata } from "../../api/validation-metadata.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import { joinProblems } from "../generic/join-problems.js";
import { dedupeOwners, isDeleting, prepareMetadataForCreate } from "../generic/metadata.js";
import { withOwnersOf } from "../generic/ownership.js";
import type { Registry, WriteOptions } from "../generic/registry.js";
import { admitWrite, attributesOf, keepIdentity, reform } from "./admit.js";
import { parseCurrent } from "./current.js";
import type { Decision, Seen } from "./decision.js";
import { hasNamespace, requireNamespace } from "./judged-by.js";
import { nextStage, pauseOf } from "./long-write.js";
import { reserve } from "./reservations.js";

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
  /** The generated name of an object without one; absent = the object has its own. */
  readonly generatedName?: string | undefined;
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
  { served, generatedName }: NewObject,
  { current }: Seen,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { resource, namespace, options } = target;
  const { isNamespaced } = resource;
  const nowMs = registry.clock.now();
  prepareMetadataForCreate(served, { isNamespaced, namespace, nowMs });
  dedupeOwners(served.metadata, options);
  if (isNamespaced) {
    requireNamespace(registry, resource, namespace, served.metadata.name ?? "");
  }
  if (generatedName !== undefined) served.metadata.name = generatedName;
  const pause = pauseOf(options.request);
  const finished = (made: Prepared) => {
    check(registry, target, made);
    return nextStage(pause, made, () => encode(registry, target, made, current));
  };
  return nextStage(pause, prepare(registry, target, served), (made) =>
    nextStage(pause, withOwners(registry, target, made), (owned) =>
      admit(registry, target, owned, finished, signal),
    ),
  );
}

/** Runs admission around what finishes the object. */
function admit(
  registry: Registry,
  target: CreateTarget,
  prepared: Prepared,
  finished: (made: Prepared) => Decision | Promise<Decision>,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { admission } = registry;
  if (admission === undefined) return finished(prepared);

  const { resource, namespace, options } = target;
  const { ...identity } = prepared.object.metadata;
  const name = prepared.object.metadata.name ?? "";
  const about = { resource, subresource: "", namespace, name, options };
  const attributes = attributesOf(about, prepared.object, undefined);
  const make = (isChanged: boolean): Decision | Promise<Decision> => {
    const { object } = attributes;
    const made = isChanged
      ? remake(registry, target, { changed: object, owned: prepared.object, identity })
      : prepared;
    attributes.object = made.object;
    return finished(made);
  };
  return admitWrite(admission, attributes, make, signal);
}

interface Prepared {
  readonly object: ApiObject;
  /** The facts' errors. */
  readonly errors: readonly FieldError[];
}

/** Makes the object of the stored version from the client's, and lets the strategy prepare it. */
function prepare(
  registry: Registry,
  { resource, options }: CreateTarget,
  served: ApiObject,
): Prepared {
  const { conversion } = resource;
  const errors = resource.codec.validate(served);
  const object = conversion === undefined ? served : conversion.toStored(served);
  if (conversion !== undefined) resource.storedCodec.applyDefaults(object);
  applyStrategy(registry, resource, object, options);
  return { object, errors };
}

function applyStrategy(
  registry: Registry,
  { strategy }: StoredResource,
  object: ApiObject,
  options: WriteOptions,
): void {
  if (strategy.generationFields !== undefined) object.metadata.generation = 1;
  strategy.prepareForCreate?.(object, strategyContext(registry, options));
}

/** Runs before admission: fields set by plugins have no owner. */
function withOwners(
  registry: Registry,
  { resource, options, isApplied }: CreateTarget,
  { object, errors }: Prepared,
): Prepared {
  if (isApplied === true) return { object, errors };
  const write = { manager: options.fieldManager, subresource: "" };
  return { object: registry.ownership.track(resource, undefined, object, write), errors };
}

interface Changed {
  readonly changed: ApiObject;
  /** The object with its owners. */
  readonly owned: ApiObject;
  readonly identity: ObjectMeta;
}

/** Takes over admission's changes, except to server-owned fields. @throws {StatusError} 500 */
function remake(
  registry: Registry,
  { resource, options }: CreateTarget,
  { changed, owned, identity }: Changed,
): Prepared {
  const object = withOwnersOf(reform(resource.storedCodec, changed), owned);
  keepIdentity(object.metadata, identity);
  applyStrategy(registry, resource, object, options);
  return { object, errors: resource.storedCodec.validate(object) };
}

/** @throws {StatusError} 422 */
function check(
  registry: Registry,
  { resource, options }: CreateTarget,
  { object, errors }: Prepared,
): void {
  const { strategy, isNamespaced } = resource;
  const rules = {
    isNamespaced,
    checkName: strategy.validateName,
    namespaceFinalizer: registry.naming.namespaceFinalizer,
    finalizers: strategy.finalizers,
  };
  const metadata = collectProblems(() => validateMetadata(object.metadata, rules));
  const context = strategyContext(registry, options);
  const own = collectProblems(() => strategy.validate?.(object, context) ?? []);
  const found = joinProblems({ facts: errors, metadata, own, ownFields: strategy.ownFields });
  const write = { next: object, current: undefined };
  const problems = registry.declarative?.judge(resource, write, found) ?? found;
  if (problems.length > 0) throw invalid(resource, object.metadata.name ?? "", problems);
  for (const text of strategy.warnings?.(object, undefined, context) ?? []) options.warn(text);
}

/** Reserves and encodes. */
function encode(
  registry: Registry,
  { resource }: CreateTarget,
  { object }: Prepared,
  existing: StoredObject | undefined,
): Decision {
  const { strategy, storedCodec } = resource;
  const { change, refusal } = reserve(registry, resource, object, undefined);
  // A status that clients may not send still gets defaults, which nobody owns.
  if (strategy.hasStatusDefaults === true) storedCodec.applyDefaults(object);
  return {
    action: "put",
    object,
    value: Buffer.from(storedCodec.encode(object)),
    reservations: change,
    refusal: existing === undefined ? refusal : nameTaken(resource, object, existing),
  };
}

function strategyContext(registry: Registry, options: WriteOptions): StrategyContext {
  const { clock, naming } = registry;
  const warn = (text: string) => options.warn(text);
  return { nowMs: clock.now(), subresource: "", naming, user: options.user, warn };
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
