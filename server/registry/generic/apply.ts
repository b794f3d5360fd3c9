/**
 * Apply: server-side apply of a configuration to an object or a subresource. It is an update whose
 * wanted object is merged from the current one, or a create where there is none (S1-SSA-05).
 */
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { badRequest, conflict, notFound, StatusError } from "../../api/status.js";
import { createObject } from "./create.js";
import { decodeInput, type ObjectInput } from "./decode-input.js";
import { isMembers } from "./fields.js";
import type { ObjectResult, Registry } from "./registry.js";
import { refuseOtherName, type UpdateTarget, updateIfThere } from "./update.js";

/** Tries when the object comes and goes in between. */
const ATTEMPTS_MAX = 8;

export interface ApplyTarget extends UpdateTarget {
  readonly input: ObjectInput;
  /** Whether fields are taken from their owners instead of a conflict (S1-SSA-13). */
  readonly force: boolean;
  /** Asked before an apply creates, which is another permission (S1-SSA-18). @throws to refuse */
  readonly authorizeCreate?: () => Promise<void>;
}

/** @throws {StatusError} 409 for fields of other owners, 400 for what is no configuration */
export async function applyObject(
  registry: Registry,
  target: ApplyTarget,
  signal: AbortSignal,
): Promise<ObjectResult> {
  const { resource, name, subresource, options, force, input } = target;
  const applied = toConfiguration(input.value, name);
  const write = { manager: options.fieldManager, subresource, force };
  const merge = (current: ApiObject | undefined): ObjectInput => {
    try {
      const merged = registry.ownership.apply(resource, current, applied, write);
      return { ...input, value: merged as unknown as JsonValue };
    } catch (error) {
      // A value of the wrong type is wrong, whoever owns the field.
      if (error instanceof StatusError && error.code === 409) resource.codec.decode(applied);
      throw error;
    }
  };
  const update = { ...target, isApplied: true as const };
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const result = await updateIfThere(
      registry,
      update,
      (_served, stored) => decodeInput(resource, merge(stored()), options),
      signal,
    );
    if (result !== undefined) return result;
    if (subresource !== "") throw notFound(resource, name);
    if (attempt === 0) await target.authorizeCreate?.();
    const create = { ...target, input: merge(undefined), isApplied: true as const };
    try {
      return await createObject(registry, create, signal);
    } catch (error) {
      // Somebody was quicker: then there is something to merge with.
      if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
    }
  }
  throw conflict(resource, name);
}

/** The configuration, which bears the name of the URL. @throws {StatusError} 400 */
function toConfiguration(value: JsonValue, name: string): JsonObject {
  if (!isMembers(value)) throw badRequest("error decoding YAML: the configuration is no object");
  const { metadata: sent = null } = value;
  if (sent !== null && !isMembers(sent)) throw badRequest("metadata must be an object");
  const metadata = { ...sent };
  if (typeof (metadata.name ?? "") !== "string") throw badRequest("metadata.name must be a string");
  metadata.name ||= name;
  refuseOtherName({ metadata }, name);
  return { ...value, metadata } as JsonObject;
}
