/**
 * Blame: who wrote each field of an object last. Recorded writes say it, from the newest back, as long as none of
 * them is missing in between; of what is older `metadata.managedFields` say who, and the time of that manager. Pure.
 */
import { type FieldSteps, formatFieldPath } from "../api/changed-fields.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { managerOf, readManagers } from "./managers.js";
import type { BlamedField, RecordedClient, RecordedWrite } from "./record-types.js";

/** Further fields of an object are not shown. */
const FIELDS_MAX = 5_000;

/** @param writes of this object, the oldest first. @param object as the API shows it, with its managedFields */
export function blameFields(
  object: JsonObject,
  writes: readonly RecordedWrite[],
  clients: readonly RecordedClient[],
): BlamedField[] {
  const fields: { readonly path: string; readonly steps: FieldSteps }[] = [];
  collect([], object, (steps) => {
    fields.push({ path: formatFieldPath(steps), steps: [...steps] });
    return fields.length < FIELDS_MAX;
  });
  const written = lastWrites(
    fields.map(({ path }) => path),
    unbroken(object, writes),
  );
  const managers = readManagers(object);
  const senders = new Map(clients.map((client) => [client.id, client]));
  return fields.map(({ path, steps }) => {
    const write = written.get(path);
    const owner = managerOf(managers, object, steps);
    const sender = write && senders.get(write.client);
    const isListed = write?.changedPaths.some((changed) => isWithin(path, changed)) === true;
    const how = owner === undefined && !isListed ? "server" : write ? "recorded" : "managed";
    return {
      path,
      manager: how === "recorded" ? (write?.fieldManager ?? "") : (owner?.manager ?? ""),
      operation: how === "recorded" && write ? operationOf(write) : (owner?.operation ?? ""),
      subresource: how === "recorded" && write ? write.subresource : (owner?.subresource ?? ""),
      write: write?.id ?? "",
      revision: write?.revision ?? "",
      time: write?.time ?? owner?.time ?? "",
      user: sender?.user ?? "",
      agent: sender?.agent ?? "",
      how,
    };
  });
}

/** The writes that led to this very state without a gap, the newest first. */
function unbroken(object: JsonObject, writes: readonly RecordedWrite[]): RecordedWrite[] {
  const { resourceVersion, uid } = (object.metadata ?? {}) as JsonObject;
  const own = writes.filter((write) => write.changedAnything && write.uid === uid);
  const found: RecordedWrite[] = [];
  let wanted = String(resourceVersion ?? "");
  for (const write of own.reverse()) {
    if (write.revision !== wanted) break;
    found.push(write);
    wanted = write.previousRevision;
    if (write.morePaths) break;
  }
  return found;
}

/** By path: the newest write that changed it. */
function lastWrites(
  paths: readonly string[],
  newestFirst: readonly RecordedWrite[],
): Map<string, RecordedWrite> {
  const left = new Set(paths);
  const within = pathsWithin(paths);
  const found = new Map<string, RecordedWrite>();
  const take = (path: string, write: RecordedWrite) => {
    found.set(path, write);
    left.delete(path);
  };
  for (const write of newestFirst) {
    if (left.size === 0) break;
    if (write.outcome === "created") for (const path of left) take(path, write);
    for (const changed of write.changedPaths) {
      if (left.has(changed)) take(changed, write);
      else for (const path of within.get(changed) ?? []) if (left.has(path)) take(path, write);
      // All of them are taken now: the next write of the same field finds none.
      within.delete(changed);
    }
  }
  return found;
}

/** By what may stand before a "." or "[" of a path: the paths that go on from there. */
function pathsWithin(paths: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const path of paths) {
    for (const { index } of path.matchAll(/[.[]/g)) {
      const before = path.slice(0, index);
      const known = found.get(before);
      if (known === undefined) found.set(before, [path]);
      else known.push(path);
    }
  }
  return found;
}

function isWithin(path: string, changed: string): boolean {
  if (!path.startsWith(changed)) return false;
  return path.length === changed.length || /[.[]/.test(path[changed.length] ?? "");
}

/** As managedFields say it. */
export function operationOf({ verb }: RecordedWrite): string {
  return verb === "apply" ? "Apply" : "Update";
}

/** Calls back for each field without members. @returns false to end it */
function collect(
  steps: (string | number)[],
  value: JsonValue | undefined,
  take: (steps: FieldSteps) => boolean,
): boolean {
  if (typeof value !== "object" || value === null) return steps.length === 0 || take(steps);
  const isMetadata = steps.length === 1 && steps[0] === "metadata";
  const members = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  if (members.length === 0) return steps.length === 0 || take(steps);
  for (const [name, member] of members) {
    if (isMetadata && (name === "managedFields" || name === "resourceVersion")) continue;
    steps.push(name);
    const goesOn = collect(steps, member, take);
    steps.pop();
    if (!goesOn) return false;
  }
  return true;
}
