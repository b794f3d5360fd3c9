/**
 * Create: one decode, one encode, one transaction. The transaction holds the key's absence and the
 * namespace's unchanged presence as conditions, so the store's answer alone decides.
 */
import type { Compare } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { ApiObject, ObjectMeta } from "../../api/meta.js";
import {
  alreadyExists,
  badRequest,
  conflict,
  type FieldError,
  generatedNameTaken,
  internalError,
  invalid,
  type StatusError,
  stillBeingDeleted,
} from "../../api/status.js";
import { validateMetadata } from "../../api/validation-metadata.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { attributesOf, keepIdentity, reform, type WriteAttributes } from "./admit.js";
import { CLAIM_ATTEMPTS_MAX, ClaimRound } from "./claims.js";
import { commit, putOperation, refresh } from "./commit.js";
import { COMPANION_ATTEMPTS_MAX, CompanionRound } from "./companions.js";
import { decodeInput, type ObjectInput } from "./decode-input.js";
import { joinProblems } from "./join-problems.js";
import { dedupeOwners, generateName, isDeleting, prepareMetadataForCreate } from "./metadata.js";
import { openNamespace, reopenNamespace } from "./namespace-gate.js";
import {
  type CurrentObject,
  currentOfStore,
  currentOfView,
  parseCurrent,
  servedBytes,
  servedUnstored,
} from "./objects.js";
import { withOwnersOf } from "./ownership.js";
import type { ObjectResult, Registry, WriteOptions } from "./registry.js";
import { outageIn } from "./write-turns.js";

export interface CreateRequest {
  readonly resource: StoredResource;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly input: ObjectInput;
  /** The name of the URL, when a PUT or an apply creates. */
  readonly name?: string;
  readonly options: WriteOptions;
  /** Set when the input was merged by an apply, so that it has its owners. */
  readonly isApplied?: true;
}

/** Tries with another random suffix when a generated name is taken (S1-META-03). */
const GENERATE_NAME_ATTEMPTS = 8;
/** Tries when the namespace object changes in between: labels, annotations, status. */
const NAMESPACE_ATTEMPTS = 8;

const ATTEMPTS_MAX =
  NAMESPACE_ATTEMPTS + GENERATE_NAME_ATTEMPTS + CLAIM_ATTEMPTS_MAX + COMPANION_ATTEMPTS_MAX;

/** Stores a new object. @throws {StatusError} */
export async function createObject(
  registry: Registry,
  request: CreateRequest,
  signal: AbortSignal,
): Promise<ObjectResult> {
  const { resource, namespace, options } = request;
  const served = decodeInput(resource, request.input, options);
  if (request.name !== undefined) refuseOtherObject(resource, served, request.name);
  prepareMetadataForCreate(served, {
    isNamespaced: resource.isNamespaced,
    namespace,
    nowMs: registry.clock.now(),
  });
  dedupeOwners(served.metadata, options);
  const isGenerated = nameIsMissing(served) && (served.metadata.generateName ?? "") !== "";
  const gate = resource.isNamespaced
    ? await openNamespace(registry, resource, namespace, served.metadata.name ?? "")
    : undefined;
  if (isGenerated) served.metadata.name = generateName(served.metadata.generateName ?? "");
  const { admission } = registry;
  const prepared = prepare(registry, request, served);
  if (request.isApplied !== true) {
    // Before admission: what plugins change is nobody's.
    const write = { manager: options.fieldManager, subresource: "" };
    prepared.object = registry.ownership.track(resource, undefined, prepared.object, write);
  }
  const identity = { ...prepared.object.metadata };
  const attributes = admission && attributesOfCreate(request, prepared);
  const answer = attributes === undefined ? false : admission?.mutate(attributes, signal);
  const isChanged = answer instanceof Promise ? await answer : answer;
  if (attributes !== undefined && isChanged === true) {
    takeChanged(registry, request, prepared, { attributes, identity });
  }
  const object = check(registry, request, prepared);
  const companions = new CompanionRound(registry.writeTurns);
  let outage: StatusError | undefined;
  try {
    const wanted = { object, attributes, gate, isGenerated, companions };
    return await tryUntilStored(registry, request, wanted, signal);
  } catch (error) {
    outage = outageIn(error, signal);
    throw error;
  } finally {
    companions.end(outage);
  }
}

/** An object that may be stored, with what has to be true then. */
interface Wanted {
  readonly object: ApiObject;
  /** undefined = nobody admits. */
  readonly attributes: WriteAttributes | undefined;
  readonly gate: Compare | undefined;
  readonly isGenerated: boolean;
  readonly companions: CompanionRound;
}

async function tryUntilStored(
  registry: Registry,
  request: CreateRequest,
  { object, attributes, gate: firstGate, isGenerated, companions }: Wanted,
  signal: AbortSignal,
): Promise<ObjectResult> {
  const { resource, namespace, options } = request;
  const { admission } = registry;
  const claims = new ClaimRound(registry, resource);
  let gate = firstGate;
  let namesLeft = isGenerated ? GENERATE_NAME_ATTEMPTS : 1;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    // What is chosen for the client is chosen anew when others turn out to hold it.
    const chosen = claims.isNeeded ? structuredClone(object) : object;
    claims.assign(chosen, undefined);
    if (attributes !== undefined) {
      attributes.object = chosen;
      attributes.companions = [];
      const verdict = admission?.validate(attributes, signal);
      if (verdict !== undefined) await verdict;
      const turn = companions.take(attributes.companions, signal);
      if (turn !== undefined) {
        await turn;
        continue;
      }
    }
    const conditions = { gate, claims, companions };
    const outcome = await store(registry, request, chosen, conditions, signal);
    if (outcome.type === "stored") return outcome.result;
    if (outcome.existing !== undefined) {
      if (--namesLeft === 0) throw nameTaken(resource, object, outcome.existing);
      object.metadata.name = generateName(object.metadata.generateName ?? "");
      // Some types repeat their name elsewhere, such as in a label.
      resource.strategy.prepareForCreate?.(object, strategyContext(registry, options));
    }
    gate = outcome.gate;
  }
  throw internalError(`${namespace} changes too often to create objects in it`);
}

/** A client that names a uid means an object that it has seen (S1-META-07). @throws {StatusError} */
function refuseOtherObject(
  resource: StoredResource,
  { metadata }: ApiObject,
  urlName: string,
): void {
  metadata.name ||= urlName;
  const { name, uid = "" } = metadata;
  if (name !== urlName) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${urlName})`,
    );
  }
  if (uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(resource, name, why);
  }
}

function nameIsMissing({ metadata }: ApiObject): boolean {
  return metadata.name === undefined || metadata.name === "";
}

interface Prepared {
  object: ApiObject;
  /** What the facts alone find wrong. */
  errors: FieldError[];
}

/** From the client's object to the one of the stored version, as the strategy wants it. */
function prepare(
  registry: Registry,
  { resource, options }: CreateRequest,
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

function attributesOfCreate(request: CreateRequest, { object }: Prepared): WriteAttributes {
  const name = object.metadata.name ?? "";
  return attributesOf({ ...request, subresource: "", name }, object, undefined);
}

/** What admission changed counts, but for what is the server's own. @throws {StatusError} 500 */
function takeChanged(
  registry: Registry,
  { resource, options }: CreateRequest,
  prepared: Prepared,
  { attributes, identity }: { readonly attributes: WriteAttributes; readonly identity: ObjectMeta },
): void {
  const object = withOwnersOf(reform(resource.storedCodec, attributes.object), prepared.object);
  keepIdentity(object.metadata, identity);
  applyStrategy(registry, resource, object, options);
  prepared.object = object;
  prepared.errors = resource.storedCodec.validate(object);
}

/** @returns the object, which may be stored. @throws {StatusError} 422 */
function check(
  registry: Registry,
  { resource, options }: CreateRequest,
  { object, errors }: Prepared,
): ApiObject {
  const { naming } = registry;
  const { strategy } = resource;
  const context = strategyContext(registry, options);
  const metadata = validateMetadata(object.metadata, {
    isNamespaced: resource.isNamespaced,
    checkName: strategy.validateName,
    namespaceFinalizer: naming.namespaceFinalizer,
  });
  const own = strategy.validate?.(object, context) ?? [];
  const found = joinProblems({ facts: errors, metadata, own });
  const write = { next: object, current: undefined };
  const problems = registry.declarative?.judge(resource, write, found) ?? found;
  if (problems.length > 0) throw invalid(resource, object.metadata.name ?? "", problems);
  return object;
}

function strategyContext(registry: Registry, { user }: WriteOptions): StrategyContext {
  return { nowMs: registry.clock.now(), subresource: "", naming: registry.naming, user };
}

/** What has to hold besides that the name is free. */
interface Conditions {
  readonly gate: Compare | undefined;
  readonly claims: ClaimRound;
  readonly companions: CompanionRound;
}

type StoreOutcome =
  | { readonly type: "stored"; readonly result: ObjectResult }
  | {
      readonly type: "refused";
      readonly existing: (() => CurrentObject) | undefined;
      readonly gate: Compare | undefined;
    };

async function store(
  registry: Registry,
  { resource, options }: CreateRequest,
  object: ApiObject,
  { gate, claims, companions }: Conditions,
  signal: AbortSignal,
): Promise<StoreOutcome> {
  const { name = "", namespace = "", uid = "" } = object.metadata;
  const path = objectPath(namespace, name);
  if (options.isDryRun) return await rehearse(registry, resource, object, gate, claims);
  const value = Buffer.from(resource.storedCodec.encode(object));
  const key = registry.view.keys.key(resource.partition, path);
  const absent: Compare = { key, modRevision: 0 };
  const put = await putOperation(registry, { resource, key, value, object }, signal);
  const own = gate === undefined ? [absent] : [absent, gate];
  const change = claims.change(object, undefined);
  const compares = [...own, ...change.compares];
  const operations = [put, ...change.operations];
  const transaction = companions.join({ compares, operations });
  const result = await commit(registry, transaction, signal);
  const settled = companions.settle(result, compares.length, signal);
  if (settled !== undefined) await settled;
  if (result.succeeded) {
    const { revision } = result;
    const bytes = servedBytes(resource, value, uid, revision);
    return { type: "stored", result: { status: 201, bytes, stored: object, revision } };
  }
  const [existing, namespaceNow] = result.current;
  claims.learn(change, result.current.slice(own.length, compares.length));
  return {
    type: "refused",
    existing: existing && (() => currentOfStore(existing, objectPath(namespace, name))),
    gate: gate === undefined ? undefined : reopenNamespace(resource, namespace, name, namespaceNow),
  };
}

/** All but the transaction: is the name free? (S1-DRY-05) */
async function rehearse(
  registry: Registry,
  resource: StoredResource,
  object: ApiObject,
  gate: Compare | undefined,
  claims: ClaimRound,
): Promise<StoreOutcome> {
  const { name = "", namespace = "" } = object.metadata;
  const path = objectPath(namespace, name);
  await refresh(registry);
  const existing = registry.view.partition(resource.partition).get(path);
  if (existing !== undefined) {
    return { type: "refused", existing: () => currentOfView(existing), gate };
  }
  if (claims.rehearse(claims.change(object, undefined))) {
    return { type: "refused", existing: undefined, gate };
  }
  const bytes = servedUnstored(resource, object, undefined);
  return { type: "stored", result: { status: 201, bytes, stored: object, revision: 0 } };
}

function nameTaken(
  resource: StoredResource,
  object: ApiObject,
  existing: () => CurrentObject,
): StatusError {
  const { name = "", generateName = "" } = object.metadata;
  if (isLeaving(existing)) return stillBeingDeleted(resource, name);
  return generateName === "" ? alreadyExists(resource, name) : generatedNameTaken(resource, name);
}

/** An object that cannot be read holds its name, too. */
function isLeaving(existing: () => CurrentObject): boolean {
  try {
    return isDeleting(parseCurrent(existing()));
  } catch {
    return false;
  }
}
