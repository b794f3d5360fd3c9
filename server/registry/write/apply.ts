/**
 * Apply: server-side apply of a configuration to an object or a subresource. It is an update whose
 * next object is merged from the current one, or a create if there is none (S1-SSA-05).
 */

import { isRecord } from "../../../storage/base/is-record.js";
import type { Steps } from "../../../storage/base/steps.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { badRequest, notFound } from "../../api/status.js";
import { showTypeOf } from "../../apply/field-manager.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import { decodeInSteps, type ObjectInput, type RefuseInput } from "../generic/decode-input.js";
import { createIdentity, type Identity } from "../generic/metadata.js";
import type { ObjectResult, Registry } from "../registry.js";
import { refuseOtherObject } from "./create.js";
import { decideCreate } from "./decide-create.js";
import { decideUpdate } from "./decide-update.js";
import { type Decision, foundIn, type Seen } from "./decision.js";
import { afterSteps, type Pause, pauseOf } from "./long-write.js";
import { changeObject, refuseOtherName, type UpdateTarget } from "./update.js";

export interface ApplyTarget extends UpdateTarget {
  readonly input: ObjectInput;
  /** Whether fields are taken from their owners instead of causing a conflict (S1-SSA-13). */
  readonly force: boolean;
  /**
   * Called before an apply creates, which needs another permission (S1-SSA-18). @throws to refuse
   */
  readonly authorizeCreate?: () => Promise<void>;
}

/** @throws {StatusError} 409 for fields of other owners, 400 for an invalid configuration */
export async function applyObject(
  registry: Registry,
  target: ApplyTarget,
  signal: SignalSource,
): Promise<ObjectResult> {
  const { resource, name, subresource, options, force, input } = target;
  const applied = toConfiguration(input.value, name);
  const refuse = refuseMerged(applied);
  const merge = (current: ApiObject | undefined, pause: Pause) => {
    const isLong = pause !== undefined;
    const write = { manager: options.fieldManager, subresource, force, isLong };
    return afterSteps(
      pause,
      registry.ownership.apply(resource, current, applied, write),
      (merged) => {
        const made = { ...input, value: merged as unknown as JsonValue, refuse, keepsNulls: true };
        const steps = decodeInSteps(resource, made, options, pause !== undefined);
        return afterSteps(pause, steps, (next) => next);
      },
    );
  };
  const update = { ...target, isApplied: true as const };
  let identity: Identity | undefined;
  let mayCreate: Promise<void> | undefined;
  const create = async (seen: Seen): Promise<Decision> => {
    mayCreate ??= target.authorizeCreate?.();
    await mayCreate;
    const served = await merge(undefined, pauseOf(options.request));
    refuseOtherObject(resource, served, name);
    identity ??= createIdentity(registry.clock.now());
    return await decideCreate(registry, update, { served, identity }, seen, signal);
  };
  return await changeObject(
    registry,
    target,
    (seen) => {
      const found = foundIn(seen);
      if (found !== undefined) {
        const makeNext = (_: unknown, stored: () => Steps<ApiObject>, pause: Pause) =>
          afterSteps(pause, stored(), (object) => merge(object, pause));
        return decideUpdate(registry, update, found, makeNext, signal);
      }
      if (subresource !== "") throw notFound(resource, name);
      return create(seen);
    },
    signal,
  );
}

/** The merge schema may accept values that the type refuses, such as invalid base64. */
function refuseMerged(applied: JsonObject): RefuseInput {
  const { namespace = "", name = "" } = applied.metadata as JsonObject;
  const type = showTypeOf(applied);
  return (failure) =>
    badRequest(
      `failed to convert new object (${namespace}/${name}; ${type}) to proper version: unable to convert unstructured object to ${type}: ${failure.describeConversion()}`,
    );
}

/** The configuration with the name of the URL. @throws {StatusError} 400 */
function toConfiguration(value: JsonValue, name: string): JsonObject {
  if (!isRecord(value)) throw badRequest("error decoding YAML: the configuration is no object");
  const { metadata: sent = null } = value;
  if (sent !== null && !isRecord(sent)) throw badRequest("metadata must be an object");
  const { ...metadata } = sent ?? {};
  if (typeof (metadata.name ?? "") !== "string") throw badRequest("metadata.name must be a string");
  metadata.name ||= name;
  refuseOtherName({ metadata }, name);
  return { ...value, metadata } as JsonObject;
}
