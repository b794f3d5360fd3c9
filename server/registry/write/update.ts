/**
 * Update: PUT and PATCH of an object or of one of its subresources. A PUT to a missing object creates
 * it if the type allows that (S1-GEN-18).
 */

import type { Steps } from "../../../storage/base/steps.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { missingObject } from "../../api/missing-object.js";
import { badRequest, conflict } from "../../api/status.js";
import { withConversions } from "../../kinds/conversion.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import {
  decodeInSteps,
  type ObjectInput,
  type RefuseInput,
  refuseOtherNames,
} from "../generic/decode-input.js";
import { createIdentity, fillNamespace, type Identity } from "../generic/metadata.js";
import type { ObjectResult, Registry } from "../registry.js";
import { answerCreated, decodeOnce, refuseOtherObject } from "./create.js";
import { orUnreadableInTurns, servedBytes, servedCurrent, servedUnstored } from "./current.js";
import { decideCreate } from "./decide-create.js";
import { decideUpdate, type UpdateTarget } from "./decide-update.js";
import { type Decision, foundIn, type Seen } from "./decision.js";
import { afterSteps, nextStage, type Pause, pauseOf } from "./long-write.js";
import { type Outcome, runWrite } from "./write.js";

export type { UpdateTarget } from "./decide-update.js";

export interface ReplaceTarget extends UpdateTarget {
  readonly input: ObjectInput;
  /** Called before a PUT creates, which needs another permission. @throws to refuse */
  readonly authorizeCreate?: () => Promise<void>;
}

export interface PatchTarget extends UpdateTarget {
  readonly patch: (current: JsonValue) => JsonValue;
  /** Problems that strict decoding finds in the patch itself. */
  readonly remarks?: readonly string[];
  /** The error when the patch's result is invalid; absent = the error for a bad body. */
  readonly refuseResult?: (result: JsonValue) => RefuseInput;
}

/** Replaces an object, or creates it where the type allows (S1-GEN-18). @throws {StatusError} */
export async function updateObject(
  registry: Registry,
  target: ReplaceTarget,
  signal: SignalSource,
): Promise<ObjectResult> {
  const { resource, namespace, name, subresource, options, input } = target;
  const decode = await decodeOnce(resource, input, options);
  fillNamespace(decode.first.metadata, resource.isNamespaced, namespace);
  refuseOtherName(decode.first, name);
  const canCreate = resource.strategy.allowCreateOnUpdate === true && subresource === "";
  const isReplaced = true as const;
  const judgeSent = () => refuseOtherNames(resource, input);
  const update = { resource, namespace, name, subresource, options, isReplaced, judgeSent };
  let identity: Identity | undefined;
  const create = async (seen: Seen): Promise<Decision> => {
    await target.authorizeCreate?.();
    const served = await decode.next();
    refuseOtherObject(resource, served, name);
    judgeSent();
    identity ??= createIdentity(registry.clock.now());
    return await decideCreate(registry, target, { served, identity }, seen, signal);
  };
  return await changeObject(
    registry,
    target,
    (seen) => {
      const found = foundIn(seen);
      if (found !== undefined) {
        return decideUpdate(registry, update, found, () => decode.next(), signal);
      }
      if (!canCreate) throw missingObject(resource, name);
      return create(seen);
    },
    signal,
  );
}

/**
 * Changes an object by a patch: a pure function of its JSON in the served version. It runs again for
 * each state of the object that an attempt finds. @throws {StatusError}
 */
export async function patchObject(
  registry: Registry,
  target: PatchTarget,
  signal: SignalSource,
): Promise<ObjectResult> {
  const { resource, name, options, patch, refuseResult, remarks = [] } = target;
  return await changeObject(
    registry,
    target,
    (seen) => {
      const found = foundIn(seen);
      if (found === undefined) throw missingObject(resource, name);
      const makeNext = (served: () => Steps<ApiObject>, _: unknown, pause: Pause) =>
        afterSteps(pause, served(), (object) =>
          nextStage(pause, patch(object as unknown as JsonValue), (value) => {
            const input = { value, duplicateFields: [], remarks, refuse: refuseResult?.(value) };
            const steps = decodeInSteps(resource, input, options, pause !== undefined);
            return afterSteps(pause, steps, (next) => {
              refuseOtherName(next, name);
              return next;
            });
          }),
        );
      return decideUpdate(registry, target, found, makeNext, signal);
    },
    signal,
  );
}

/** The object's name must be the URL's. @throws {StatusError} 400 */
export function refuseOtherName({ metadata }: Pick<ApiObject, "metadata">, name: string): void {
  const sent = metadata.name ?? "";
  if (sent === name) return;
  throw badRequest(
    sent === ""
      ? `the name of the object (${name} based on URL) was undeterminable: resource name may not be empty`
      : `the name of the object (${sent}) does not match the name on the URL (${name})`,
  );
}

/** Writes the result of `decide` for the object named in the URL. @throws {StatusError} */
export async function changeObject(
  registry: Registry,
  { resource, namespace, name, options }: UpdateTarget,
  decide: (seen: Seen) => Decision | Promise<Decision>,
  signal: SignalSource,
): Promise<ObjectResult> {
  const outcome = await runWrite(
    registry,
    {
      resource,
      namespace,
      isDryRun: options.isDryRun,
      name: () => name,
      decide,
      explain: (error, current) =>
        orUnreadableInTurns(
          error,
          resource,
          current,
          pauseOf(options.request, current.bytes.length),
        ),
      lost: () => conflict(resource, name),
    },
    signal,
  );
  if (!outcome.isStored) await pauseOf(options.request, outcome.decision.value?.length)?.();
  const answer = outcome.current === undefined ? answerCreated : answerUpdated;
  if (resource.conversion?.remote === undefined) return answer(resource, outcome);
  return await withConversions(
    () => answer(resource, outcome),
    () => signalOf(signal),
  );
}

function answerUpdated(
  resource: StoredResource,
  { decision, current, revision, isStored, stored }: Outcome,
): ObjectResult {
  const { action, object, value } = decision;
  const known = stored ?? (action === "same" && !isStored ? current : undefined);
  let bytes: Buffer;
  if (known !== undefined) bytes = servedCurrent(resource, known);
  else if (isStored && value !== undefined) {
    bytes = servedBytes(resource, value, object.metadata.uid ?? "", revision);
  } else bytes = servedUnstored(resource, object, revision, value);
  return { status: 200, bytes, stored: object, revision };
}
