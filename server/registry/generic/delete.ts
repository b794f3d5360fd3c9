/**
 * Delete: one object. The decision is deletion.ts's; here it is committed on the condition that the
 * object is still the one that was decided about.
 */
import type { Compare, Operation } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { ApiObject } from "../../api/meta.js";
import { conflict, notFound, type Status, StatusError } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { UserInfo } from "../../request/user-info.js";
import { admitDelete } from "./admit.js";
import { ClaimRound } from "./claims.js";
import { commit, putOperation, refresh } from "./commit.js";
import type { DeleteOptions } from "./delete-options.js";
import { type DeletionAction, decideDeletion } from "./deletion.js";
import {
  type CurrentObject,
  currentOfStore,
  currentOfView,
  orUnreadable,
  parseCurrent,
  servedBytes,
  servedUnstored,
} from "./objects.js";
import type { Registry, WriteResult } from "./registry.js";

export interface DeleteTarget {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  readonly options: DeleteOptions;
  /** Who asks; absent = the server itself. */
  readonly user?: UserInfo;
  /** Takes what the client should know although the delete succeeds. */
  readonly warn?: (text: string) => void;
}

/** Tries against other writers of the same object; see update.ts. */
const ATTEMPTS_MAX = 64;

/** Deletes an object or begins its deletion. @throws {StatusError} */
export async function deleteObject(
  registry: Registry,
  target: DeleteTarget,
  signal: AbortSignal,
): Promise<WriteResult> {
  const { resource, namespace, name, options } = target;
  warnOfDefault(target);
  const partition = registry.view.partition(resource.partition);
  const path = objectPath(namespace, name);
  const look = (): CurrentObject | undefined => {
    const found = partition.get(path);
    return found === undefined ? undefined : currentOfView(found);
  };

  const claims = new ClaimRound(registry, resource);
  let current = look();
  let isProved = false;
  const isStill = async (): Promise<boolean> => {
    const revision = current?.revision;
    await refresh(registry);
    current = look();
    isProved = true;
    return current?.revision === revision;
  };

  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (current === undefined) {
      if (isProved || (await isStill())) throw notFound(resource, name);
      continue;
    }
    const object = parseCurrent(current);
    let action: DeletionAction;
    let value: Buffer;
    try {
      action = decideDeletion(resource, object, current.revision, options, registry.clock.now());
      if (action !== "pending") {
        const verdict = admitDelete(registry, target, current, signal);
        if (verdict !== undefined) await verdict;
      }
      value = Buffer.from(resource.storedCodec.encode(object));
    } catch (error) {
      const seen: CurrentObject = current;
      if (!(error instanceof StatusError) || isProved || (await isStill())) {
        throw orUnreadable(error, resource, seen);
      }
      continue;
    }
    if (action === "pending" || options.isDryRun) {
      if (!isProved && !(await isStill())) continue;
      const bytes = servedUnstored(resource, object, current.revision);
      return answer(target, action, object, bytes);
    }
    const key = registry.view.keys.key(resource.partition, path);
    const operation: Operation =
      action === "remove"
        ? { type: "delete", key }
        : await putOperation(registry, { resource, key, value, object }, signal);
    const compare: Compare = { key, modRevision: current.revision };
    const released = action === "remove" ? claims.change(undefined, object).operations : [];
    const transaction = { compares: [compare], operations: [operation, ...released] };
    const result = await commit(registry, transaction, signal);
    if (result.succeeded) {
      const isAsked = action === "mark" || resource.strategy.returnsDeletedObject === true;
      const bytes = isAsked
        ? servedBytes(resource, value, object.metadata.uid ?? "", result.revision)
        : undefined;
      return answer(target, action, object, bytes);
    }
    const [now] = result.current;
    current = now === undefined ? undefined : currentOfStore(now, path);
    isProved = true;
  }
  throw conflict(resource, name);
}

/** Says what becomes of dependents where the client did not. */
export function warnOfDefault({
  resource,
  options,
  warn,
}: Pick<DeleteTarget, "resource" | "options" | "warn">): void {
  const text = resource.strategy.defaultPropagationWarning;
  const isSaid = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (text !== undefined && !isSaid) warn?.(text);
}

/** The object while there is one (or where the type gives its last state), else a Status. */
function answer(
  { resource, options }: DeleteTarget,
  action: DeletionAction,
  object: ApiObject,
  bytes: Buffer | undefined,
): WriteResult {
  if (action === "remove") {
    const isObject = resource.strategy.returnsDeletedObject === true && bytes !== undefined;
    return { status: 200, bytes: isObject ? bytes : deletedStatus(resource, object) };
  }
  // Clients that use the old way to ask for background deletion learn that it is not done yet.
  const status = options.orphanDependents === false ? 202 : 200;
  return { status, bytes: bytes ?? deletedStatus(resource, object) };
}

/** Lets a client see which object it was that is gone (S1-DEL-12). */
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
