/**
 * Delete: one object. deletion.ts decides; here the decision is committed on condition that the
 * object is unchanged.
 */

import { nextTurn } from "../../../storage/base/next-turn.js";
import type { ApiObject } from "../../api/meta.js";
import { missingObject } from "../../api/missing-object.js";
import { conflict, forbidden, type Status } from "../../api/status.js";
import { withConversions } from "../../kinds/conversion.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { Registry, WriteResult } from "../registry.js";
import { admitDelete } from "./admit.js";
import { orUnreadable, parseCurrentInSteps, servedBytes, servedUnstored } from "./current.js";
import { type Decision, type Found, foundIn } from "./decision.js";
import type { DeleteTarget } from "./delete-target.js";
import { decideDeletion } from "./deletion.js";
import { afterSteps, nextStage, type Pause, pauseOf, type WritingRequest } from "./long-write.js";
import { changeOf } from "./reservations.js";
import { storedBytes } from "./stored-bytes.js";
import { type Outcome, runWrite, type WritePlan } from "./write.js";

/** Deletes an object or begins its deletion. @throws {StatusError} */
export async function deleteObject(
  registry: Registry,
  target: DeleteTarget,
  signal: SignalSource,
): Promise<WriteResult> {
  const { resource, name, user } = target;
  const refused = user === undefined ? undefined : resource.strategy.refusesDelete?.(name);
  if (refused !== undefined) throw forbidden(resource, name, refused);
  warnOfDefault(target);
  const outcome = await runWrite(registry, planDelete(registry, target), signal);
  if (resource.conversion?.remote === undefined) return answerDeleted(target, outcome);
  return await withConversions(
    () => answerDeleted(target, outcome),
    () => signalOf(signal),
  );
}

/** The write plan of a delete. */
export function planDelete(registry: Registry, target: DeleteTarget): WritePlan {
  const { resource, namespace, name, options } = target;
  return {
    resource,
    namespace,
    isDryRun: options.isDryRun,
    name: () => name,
    decide: (seen, signal) => {
      const found = foundIn(seen);
      if (found === undefined) throw missingObject(resource, name);
      return decideDelete(registry, target, found, signal);
    },
    explain: (error, current) => orUnreadable(error, resource, current),
    lost: () => conflict(resource, name),
  };
}

/** Decides the delete of the current object. @throws {StatusError} */
export function decideDelete(
  registry: Registry,
  target: DeleteTarget,
  found: Found,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { current } = found;
  const pause = pauseOf(target.request ?? OWN_LOOP, current.bytes.length);
  return afterSteps(pause, parseCurrentInSteps(current, pause), (object) =>
    decideParsed(registry, target, { ...found, object, pause }, signal),
  );
}

/** The loops of this server delete large objects in several turns as well. */
const OWN_LOOP: WritingRequest = { bodyBytes: 0, nextTurn };

interface Parsed extends Found {
  readonly object: ApiObject;
  readonly pause: Pause;
}

function decideParsed(
  registry: Registry,
  target: DeleteTarget,
  found: Parsed,
  signal: SignalSource,
): Decision | Promise<Decision> {
  const { resource, options } = target;
  const { current, object, pause } = found;
  // What cannot be shown to the client stays; loops of ours delete it all the same.
  if (target.user !== undefined && resource.conversion?.remote !== undefined) {
    resource.conversion.fromStored({ ...object });
  }
  const nowMs = registry.clock.now();
  const action = decideDeletion(resource, object, current.revision, options, nowMs);
  if (action === "pending") return { action: "same", object };
  const encoded = (value: Buffer): Decision => {
    if (action === "mark") return { action: "put", object, value };
    const reservations = changeOf(registry, resource, undefined, object);
    return { action: "remove", object, value, reservations };
  };
  const decided = (): Decision | Promise<Decision> => {
    if (action === "held") return { action: "same", object };
    // Also checks that the stored value is an object of its kind. An invalid one is not deleted by
    // name, as its finalizers and preconditions may not be what they seem (S1-UNS).
    return afterSteps(pause, storedBytes(registry, resource, object, pause !== undefined), encoded);
  };
  return nextStage(
    pause,
    undefined,
    () => admitDelete(registry, target, found, signal)?.then(decided) ?? decided(),
  );
}

/** Warns of the default for dependents if the client did not set one. */
export function warnOfDefault({
  resource,
  options,
  warn,
}: Pick<DeleteTarget, "resource" | "options" | "warn">): void {
  const text = resource.strategy.defaultPropagationWarning;
  const isSaid = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (text !== undefined && !isSaid) warn?.(text);
}

/** The object while it exists (or if the type returns its last state), else a Status. */
function answerDeleted(
  { resource, options }: DeleteTarget,
  { decision, current, revision, isStored }: Outcome,
): WriteResult {
  const { action, object, value } = decision;
  const isGone = action === "remove";
  if (isGone && resource.strategy.returnsDeletedObject !== true) {
    return { status: 200, bytes: deletedStatus(resource, object) };
  }
  const bytes =
    isStored && value !== undefined
      ? servedBytes(resource, value, object.metadata.uid ?? "", revision)
      : servedUnstored(resource, object, current?.revision);
  // 202 tells clients of the old background deletion option that it is not finished.
  const status = !isGone && options.orphanDependents === false ? 202 : 200;
  return { status, bytes };
}

/** Identifies the deleted object to the client (S1-DEL-12). */
export function deletedStatus(
  resource: StoredResource,
  { metadata }: Pick<ApiObject, "metadata">,
): Buffer {
  const { group } = resource;
  const { uid } = metadata;
  const status: Omit<Status, "code"> = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: metadata.name ?? "",
      ...(group === "" ? {} : { group }),
      kind: resource.resource,
      ...(uid === undefined ? {} : { uid }),
    },
  };
  return Buffer.from(`${JSON.stringify(status)}\n`);
}
