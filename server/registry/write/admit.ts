/**
 * Connects the write path with admission: the attributes that plugins get, and the decoding of
 * objects that they changed. It waits only when a plugin does.
 */

import { finishNow, type Steps } from "../../../storage/base/steps.js";
import type {
  Admission,
  AdmissionAttributes,
  AdmissionOptions,
  SideWrite,
} from "../../admission/admission.js";
import type { ApiObject, JsonValue, ObjectMeta } from "../../api/meta.js";
import { type FieldError, internalError, invalid, StatusError } from "../../api/status.js";
import { problemOfEntries } from "../../apply/managed-fields.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import { SERVER_USER } from "../../request/user-info.js";
import type { ObjectCodec } from "../../schema/object-codec.js";
import { fillNamespace } from "../generic/metadata.js";
import { withOwnersOf } from "../generic/ownership.js";
import type { Registry, WriteOptions } from "../registry.js";
import { parseCurrentInSteps } from "./current.js";
import type { Decision, Found } from "./decision.js";
import type { DeleteTarget } from "./delete-target.js";
import { afterSteps, type Pause } from "./long-write.js";

export type WriteAttributes = AdmissionAttributes & {
  name: string;
  object: ApiObject;
  sent?: ApiObject | undefined;
  write?: object;
  pause?: Pause;
  sentRevision?: string | undefined;
  oldRevision?: string | undefined;
};

const NOTHING_SAID: AdmissionOptions = Object.freeze({ isDryRun: false });
const DRY_RUN: AdmissionOptions = Object.freeze({ isDryRun: true });

/** The plugins' view of a create or update. */
export function attributesOf(
  target: {
    readonly resource: ServedResource;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
    readonly options: WriteOptions;
    readonly isReplaced?: true;
  },
  object: ApiObject,
  oldObject: ApiObject | undefined,
): WriteAttributes {
  const { resource, subresource, namespace, name, options, isReplaced } = target;
  return {
    operation: oldObject === undefined ? "CREATE" : "UPDATE",
    resource,
    served: resource,
    subresource,
    namespace,
    name,
    object,
    oldObject,
    options: options.said ?? (options.isDryRun ? DRY_RUN : NOTHING_SAID),
    isReplaced,
    user: options.user,
    warn: (text) => options.warn(text),
    ...options.remarks,
  };
}

/**
 * Runs the mutating phase, makes the decision, and runs the validating phase.
 * @param make also sets the attributes to be validated
 * @returns a promise only when a plugin has to wait. @throws {StatusError} where the guards refuse as
 * well as the rules of the kind: their 403, or the causes of both
 */
export function admitWrite(
  admission: Admission,
  attributes: WriteAttributes,
  make: (isChanged: boolean) => Decision | Promise<Decision>,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const complete = (isChanged: boolean): Decision | Promise<Decision> => {
    let decision: Decision | Promise<Decision>;
    try {
      decision = make(isChanged);
    } catch (error) {
      return refuse(error);
    }
    return decision instanceof Promise ? decision.then(validate, refuse) : validate(decision);
  };
  const refuse = (error: unknown): Promise<never> => {
    if (!isInvalid(error)) throw error;
    const both = (first: unknown) => (isInvalid(first) ? joined(first, error) : first);
    let guarded: Promise<void> | undefined;
    try {
      guarded = admission.guard(attributes, signal);
    } catch (first) {
      throw both(first);
    }
    if (guarded === undefined) throw error;
    return guarded.then(
      () => Promise.reject(error),
      (first: unknown) => Promise.reject(both(first)),
    );
  };
  const validate = (decision: Decision): Decision | Promise<Decision> => {
    const sideWrites: SideWrite[] = [];
    attributes.sideWrites = sideWrites;
    const admitted = () => (sideWrites.length === 0 ? decision : { ...decision, sideWrites });
    return admission.validate(attributes, signal)?.then(admitted) ?? admitted();
  };
  const answer = admission.mutate(attributes, signal);
  return answer instanceof Promise ? answer.then(complete) : complete(answer);
}

function isInvalid(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code === 422;
}

/** One refusal of an object for two of it, with the causes of both. */
function joined(first: StatusError, second: StatusError): StatusError {
  const { group = "", kind = "", name = "" } = second.status.details ?? {};
  const causes = [first, second].flatMap(({ status }) => status.details?.causes ?? []);
  return invalid({ group, kind }, name, causes as FieldError[]);
}

/** Nulls that a plugin left in a custom object are judged. */
const NULLS_KEPT = { keepsNulls: true };

/**
 * Decodes a plugin's object as its type, with defaults.
 * @param owned the object with its owners before admission. @throws {StatusError} 500
 */
export function* reform(
  codec: ObjectCodec,
  changed: ApiObject,
  owned: ApiObject | undefined,
  isLong: boolean,
): Steps<ApiObject> {
  const { managedFields, ...others } = changed.metadata;
  // Owners that no plugin touched are valid, and may be most of the object.
  const areKept = managedFields !== undefined && managedFields === owned?.metadata.managedFields;
  const sent = areKept ? { ...changed, metadata: others } : changed;
  try {
    const value = sent as unknown as JsonValue;
    const { object } =
      isLong && codec.decodeInSteps !== undefined
        ? yield* codec.decodeInSteps(value, NULLS_KEPT)
        : codec.decode(value, NULLS_KEPT);
    yield;
    if (isLong && codec.applyDefaultsInSteps !== undefined) {
      yield* codec.applyDefaultsInSteps(object);
    } else codec.applyDefaults(object);
    if (areKept) object.metadata.managedFields = managedFields;
    return object;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw internalError(`admission made an object that is none: ${error.message}`, error);
  }
}

/**
 * The owners of fields as plugins left them, so that one may take them away; invalid ones are replaced
 * by those before. @param owned the object with its owners before admission
 */
export function keepOwners(
  changed: ApiObject,
  owned: ApiObject,
  client: Pick<WriteOptions, "warn">,
): ApiObject {
  const { managedFields = [] } = changed.metadata;
  const problem =
    managedFields === owned.metadata.managedFields ? undefined : problemOfEntries(managedFields);
  if (problem === undefined && managedFields.length > 0) return changed;
  if (problem === undefined) return withOwnersOf(changed, NO_OWNERS);
  client.warn(
    `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${problem}`,
  );
  return withOwnersOf(changed, owned);
}

const NO_OWNERS: ApiObject = { apiVersion: "", kind: "", metadata: {} };

const IDENTITY_FIELDS = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

/** Plugins change an object's content, not its identity. @throws {StatusError} 400 for another namespace */
export function keepIdentity(changed: ObjectMeta, known: ObjectMeta): void {
  const { namespace = "" } = known;
  fillNamespace(changed, namespace !== "", namespace);
  for (const field of IDENTITY_FIELDS) {
    if (known[field] === undefined) delete changed[field];
    else Object.assign(changed, { [field]: known[field] });
  }
}

/**
 * Asks whether the object, in its state before the deletion, may be deleted.
 * @returns undefined when there is nothing to wait for. @throws {StatusError}
 */
export function admitDelete(
  registry: Registry,
  {
    resource,
    namespace,
    name,
    options,
    user = SERVER_USER,
    warn,
    remarks,
    isOfCollection,
  }: DeleteTarget,
  { current, write, pause }: Found & { readonly pause?: Pause },
  signal: SignalSource,
): Promise<void> | undefined {
  const { admission } = registry;
  if (admission?.handles("DELETE", resource, "") !== true) return undefined;
  const about = {
    operation: "DELETE",
    resource,
    served: resource,
    subresource: "",
    namespace,
    name,
    object: undefined,
    oldRevision: String(current.revision),
    isOfCollection,
    write,
    options: options satisfies AdmissionOptions,
    user,
    warn: (text: string) => warn?.(text),
    ...remarks,
  } as const;
  const ask = (oldObject: ApiObject): Promise<void> | undefined => {
    const attributes: AdmissionAttributes = { ...about, oldObject };
    const mutated = admission.mutate(attributes, signal);
    return mutated instanceof Promise
      ? mutated.then(() => admission.validate(attributes, signal))
      : admission.validate(attributes, signal);
  };
  const old = afterSteps(pause, parseCurrentInSteps(current, pause), (object) => object);
  return old instanceof Promise ? old.then(ask) : ask(old);
}

/**
 * Admits an object that is created without being stored as such.
 * @returns the object as changed by the plugins. @throws {StatusError}
 */
export async function admitUnstored(
  admission: Admission | undefined,
  target: Parameters<typeof attributesOf>[0],
  object: ApiObject,
  signal: SignalSource,
): Promise<ApiObject> {
  if (admission === undefined) return object;
  const attributes = attributesOf(target, object, undefined);
  if (await admission.mutate(attributes, signal)) {
    attributes.object = finishNow(
      reform(target.resource.codec, attributes.object, undefined, false),
    );
  }
  await admission.validate(attributes, signal);
  return attributes.object;
}
