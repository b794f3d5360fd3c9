/**
 * FieldManager: maintains `metadata.managedFields` of one kind in one version, and merges applied
 * configurations (server-side apply, KEP-555). Pure: it never changes its arguments, and knows neither
 * storage nor HTTP. The registry calls `update` with the final object of every write but an apply, and
 * `apply` to make an apply's object.
 *
 * Where kube-apiserver and the specification differ, the specification counts (ruling C-13): an
 * empty list of entries clears nothing, and a request that clears and changes owns its changes.
 */

import { finishNow, type Steps } from "../../storage/base/steps.js";
import { isEqual } from "../api/deep-equal.js";
import { isJsonObject } from "../api/json-object.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { badRequest } from "../api/status.js";
import { checkConfiguration } from "./check-configuration.js";
import { compareInSteps, type Difference } from "./compare.js";
import { conflictError } from "./conflicts.js";
import { fieldsInSteps } from "./field-extraction.js";
import {
  EMPTY,
  equalSets,
  type FieldSet,
  intersectInSteps,
  isEmptySet,
  subtractInSteps,
  subtractSets,
  subtractTrees,
  unionInSteps,
  unionSets,
} from "./field-set.js";
import {
  fieldsLastApplied,
  KUBECTL_MANAGER,
  lastAppliedKey,
  withLastApplied,
} from "./last-applied.js";
import {
  createEntryClock,
  entryId,
  isReset,
  type ManagedEntries,
  type ManagedEntry,
  mergeOldestEntries,
  readSentEntries,
  readStoredEntries,
  writeEntries,
} from "./managed-fields.js";
import type { MergeSchema } from "./merge-schema.js";
import { mergeInSteps, pruneObject, withAppliedNulls } from "./merge-values.js";
import { reconcileInSteps } from "./reconcile.js";

/** Another version of the kind, in which an entry names its fields. */
export interface OtherVersion {
  readonly schema: MergeSchema;
  /** Converts from the manager's version to this one. */
  toVersion(object: JsonObject): JsonObject;
  fromVersion(object: JsonObject): JsonObject;
}

export interface FieldManagerOptions {
  /** The schema of the version that `update` and `apply` work in. */
  readonly schema: MergeSchema;
  /** "apps/v1" */
  readonly apiVersion: string;
  readonly kind: string;
  readonly naming: Naming;
  /** The time in milliseconds. */
  now(): number;
  /**
   * Fields that a write to a subresource ("" = the object itself) does not affect: it neither
   * changes nor owns them. Default none.
   */
  resetFields?(subresource: string): FieldSet;
  /** @returns undefined for a version that is no longer served: its entries are dropped */
  otherVersion?(apiVersion: string): OtherVersion | undefined;
}

/** The manager of a write, and its target. */
export interface Write {
  /** "" counts as "unknown". */
  readonly manager: string;
  /** "" = the object itself. */
  readonly subresource: string;
  /** Whether it is worth while to cut each step of the work. */
  readonly isLong?: boolean;
}

export interface FieldManager {
  /**
   * The new object with its managedFields, for create (no `live`), update and patch. A valid list in
   * `next` counts: clients may edit it, and clear it by one empty entry.
   */
  update(live: ApiObject | undefined, next: ApiObject, write: Write): ApiObject;
  /** The same in steps. */
  updateSteps(live: ApiObject | undefined, next: ApiObject, write: Write): Steps<ApiObject>;
  /**
   * The live object (undefined = none) merged with a configuration; not yet decoded, without
   * defaults. @throws {StatusError} 400 for an invalid configuration, 409 for conflicts
   */
  apply(live: ApiObject | undefined, applied: JsonObject, write: ApplyWrite): ApiObject;
  /** The same in steps. */
  applySteps(live: ApiObject | undefined, applied: JsonObject, write: ApplyWrite): Steps<ApiObject>;
}

export interface ApplyWrite extends Write {
  /** Whether fields are taken from their owners instead of causing a conflict. */
  readonly force: boolean;
}

/** The owner of fields set before ownership was tracked. */
const BEFORE_FIRST_APPLY = "before-first-apply";
const UNKNOWN_MANAGER = "unknown";

/** What an owner loses by an apply: the fields that it changes, and those that it removes. */
interface Loss {
  readonly id: string;
  readonly owner: ManagedEntry;
  /** Its fields before. */
  readonly owned: FieldSet;
  readonly fields: FieldSet;
  readonly removed: FieldSet;
}

/** What differs between two states in each entry's version; "gone" = that version no longer exists. */
type Comparisons = ReadonlyMap<string, Difference | undefined | "gone">;

export function createFieldManager(options: FieldManagerOptions): FieldManager {
  const { schema, apiVersion, naming } = options;
  const annotation = lastAppliedKey(naming);
  const now = createEntryClock(options.now);
  const resetFields = (subresource: string) => options.resetFields?.(subresource) ?? EMPTY;

  /** An entry's fields adapted to the current schema, where a write touches them. */
  function* fieldsNow(entry: ManagedEntry, { changed, removed }: Difference): Steps<FieldSet> {
    const own =
      entry.apiVersion === apiVersion ? schema : options.otherVersion?.(entry.apiVersion)?.schema;
    if (own === undefined) return EMPTY;
    const fields = yield* reconcileInSteps(own.root, entry.fields, changed);
    return yield* reconcileInSteps(own.root, fields, removed);
  }

  function* compareVersions(
    before: JsonObject,
    after: JsonObject,
    entries: ManagedEntries,
    { subresource }: Write,
  ): Steps<Comparisons> {
    const ignored = resetFields(subresource);
    const own = yield* compareInSteps(schema.root, before, after);
    const compared = new Map<string, Difference | undefined | "gone">();
    compared.set(apiVersion, without(own, ignored));
    for (const { apiVersion: version } of entries.values()) {
      if (compared.has(version)) continue;
      const other = options.otherVersion?.(version);
      if (other === undefined) compared.set(version, "gone");
      else {
        const [was, is] = [other.toVersion(before), other.toVersion(after)];
        const difference = yield* compareInSteps(other.schema.root, was, is);
        compared.set(version, without(difference, ignored));
      }
    }
    return compared;
  }

  function* updateSteps(
    live: ApiObject | undefined,
    next: ApiObject,
    write: Write,
  ): Steps<ApiObject> {
    const sent = next.metadata.managedFields;
    const isCleared = write.subresource === "" && isReset(sent);
    const entries = isCleared
      ? new Map<string, ManagedEntry>()
      : yield* entriesFor(live, next, write);
    // The ownership of an object without entries is not tracked until its first apply.
    if (live !== undefined && entries.size === 0 && !isCleared) {
      return yield* withEntries(next, entries);
    }
    yield;
    const before = live === undefined ? schema.empty : toJson(live);
    const compared = yield* compareVersions(before, toJson(next), entries, write);
    yield;
    yield* follow(entries, compared, write);
    return yield* withEntries(next, entries);
  }

  /**
   * The entries of the new object; those of the live one if there are none, they are invalid, or the
   * write is to a subresource.
   */
  function* entriesFor(
    live: ApiObject | undefined,
    next: ApiObject,
    { subresource, isLong = false }: Write,
  ): Steps<ManagedEntries> {
    const stored = live?.metadata.managedFields;
    const list = subresource === "" ? next.metadata.managedFields : undefined;
    const sent = yield* readSentEntries(list, stored, isLong);
    if (sent !== undefined && sent.size > 0) return sent;
    return (yield* readStoredEntries(stored)) ?? new Map();
  }

  /** Changed fields belong to the writer only; removed fields belong to nobody. */
  function* follow(entries: ManagedEntries, compared: Comparisons, write: Write): Steps<void> {
    const { manager, subresource } = write;
    const own = compared.get(apiVersion);
    const changed = own === undefined || own === "gone" ? EMPTY : own.changed;
    const owner = ownerOf(manager, subresource, "Update");
    const id = entryId(owner);
    const previous = entries.get(id);
    for (const [otherId, entry] of entries) {
      const difference = compared.get(entry.apiVersion);
      if (difference === "gone") entries.delete(otherId);
      else if (difference !== undefined) {
        // The writer keeps its fields: it gets the changed ones anyway.
        const taken = otherId === id ? EMPTY : difference.changed;
        const fields = yield* fieldsNow(entry, difference);
        const left = yield* leftOf(fields, [taken, difference.removed]);
        replaceFields(entries, otherId, entry, left);
      } else if (isEmptySet(entry.fields)) entries.delete(otherId);
      yield;
    }
    if (!isEmptySet(changed)) {
      const kept = entries.get(id)?.fields ?? EMPTY;
      const fields = yield* unionInSteps(kept, changed);
      const time = now();
      const isSame = previous !== undefined && previous.fields === fields && previous.time === time;
      if (!isSame) entries.set(id, { ...owner, time, fields });
    }
    yield* mergeOldestEntries(entries);
  }

  function ownerOf(writer: string, subresource: string, operation: "Apply" | "Update") {
    const manager = writer === "" ? UNKNOWN_MANAGER : writer;
    return { manager, apiVersion, subresource, operation };
  }

  function* applySteps(
    live: ApiObject | undefined,
    applied: JsonObject,
    write: ApplyWrite,
  ): Steps<ApiObject> {
    check(applied);
    yield;
    const current: JsonObject =
      live === undefined ? { apiVersion, kind: options.kind, metadata: {} } : toJson(live);
    const entries = (yield* readStoredEntries(live?.metadata.managedFields)) ?? new Map();
    if (live !== undefined && entries.size === 0) {
      const compared = yield* compareVersions(schema.empty, current, entries, write);
      yield* follow(entries, compared, { ...write, manager: BEFORE_FIRST_APPLY });
    }
    const merged = yield* mergeApplied(current, applied, entries, write);
    const isKubectl = write.manager === KUBECTL_MANAGER;
    const result = isKubectl ? withLastApplied(annotation, merged, applied) : merged;
    return yield* withEntries(result as unknown as ApiObject, entries);
  }

  /** Merges the values, and updates `entries` to the state after the apply. */
  function* mergeApplied(
    live: JsonObject,
    applied: JsonObject,
    entries: ManagedEntries,
    write: ApplyWrite,
  ): Steps<JsonObject> {
    const ignored = resetFields(write.subresource);
    const owner = ownerOf(write.manager, write.subresource, "Apply");
    const id = entryId(owner);
    const last = entries.get(id);
    const fields = subtractTrees(yield* fieldsInSteps(schema.root, applied), ignored);
    entries.delete(id);
    yield;
    let merged = yield* mergeInSteps(schema.root, live, applied);
    yield;
    if (last !== undefined) {
      merged = yield* prune(merged, last, fields, entries);
      merged = withAppliedNulls(schema.root, merged, applied);
      yield;
    }

    const compared = yield* compareVersions(live, merged, entries, write);
    const isChanged = compared.get(apiVersion) !== undefined;
    yield;
    yield* takeOver(live, entries, compared, write);
    const isSameEntry =
      last !== undefined && last.apiVersion === apiVersion && equalSets(last.fields, fields);
    if (!isEmptySet(fields)) {
      // An apply that changes no value gives no time.
      const time = isChanged ? now() : last?.time;
      const entry = { ...owner, time, fields };
      entries.set(id, isSameEntry && !isChanged ? last : entry);
    }
    return merged;
  }

  /** Takes changed fields from other owners: by force, or if they are kubectl's own earlier ones. */
  function* takeOver(
    live: JsonObject,
    entries: ManagedEntries,
    compared: Comparisons,
    write: ApplyWrite,
  ): Steps<void> {
    const { manager, force } = write;
    const losses: Loss[] = [];
    for (const [id, owner] of [...entries]) {
      const difference = compared.get(owner.apiVersion);
      if (difference === "gone") entries.delete(id);
      if (difference === undefined || difference === "gone") continue;
      const owned = yield* fieldsNow(owner, difference);
      const fields = yield* intersectInSteps(owned, difference.changed);
      losses.push({ id, owner, owned, fields, removed: difference.removed });
      yield;
    }
    const conflicts = losses.filter(({ fields }) => !isEmptySet(fields));
    if (conflicts.length > 0 && !force) {
      const allowed =
        manager === KUBECTL_MANAGER
          ? yield* fieldsLastApplied(schema, apiVersion, annotation, live)
          : EMPTY;
      const refused = conflicts
        .map(({ owner, fields }) => ({ owner, fields: subtractSets(fields, allowed) }))
        .filter(({ fields }) => !isEmptySet(fields));
      yield;
      if (refused.length > 0) throw conflictError(refused);
    }
    for (const { id, owner, owned, fields, removed } of losses) {
      replaceFields(entries, id, owner, yield* leftOf(owned, [fields, removed]));
      yield;
    }
  }

  /** Removes fields that the applier owned, no longer applies, and nobody else owns (S1-SSA-16). */
  function* prune(
    merged: JsonObject,
    last: ManagedEntry,
    fields: FieldSet,
    others: ManagedEntries,
  ): Steps<JsonObject> {
    const kept = new Map<string, FieldSet>([[apiVersion, fields]]);
    for (const { apiVersion: version, fields: theirs } of others.values()) {
      kept.set(version, yield* unionInSteps(kept.get(version) ?? EMPTY, theirs));
      yield;
    }
    let pruned = inVersion(last.apiVersion, merged, (object, own) =>
      pruneObject(own.root, object, last.fields, kept.get(last.apiVersion) ?? EMPTY),
    );
    for (const [version, theirs] of kept) {
      if (version === last.apiVersion || pruned === merged) continue;
      yield;
      // In other versions: restores removed fields that have an owner there.
      const rest = pruned;
      pruned = inVersion(version, merged, (object, own) => {
        const left = inVersion(version, rest, (converted) => converted, false);
        const stays = finishNow(fieldsInSteps(own.root, left));
        const gone = subtractSets(finishNow(fieldsInSteps(own.root, object)), stays);
        return pruneObject(own.root, object, gone, unionSets(stays, theirs));
      });
    }
    return pruned;
  }

  /** Transforms an object in another version; if that version is gone the object is unchanged. */
  function inVersion(
    version: string,
    object: JsonObject,
    change: (object: JsonObject, schema: MergeSchema) => JsonObject,
    isConvertedBack = true,
  ): JsonObject {
    if (version === apiVersion) return change(object, schema);
    const other = options.otherVersion?.(version);
    if (other === undefined) return object;
    const converted = other.toVersion(object);
    const changed = change(converted, other.schema);
    if (!isConvertedBack) return changed;
    return changed === converted ? object : other.fromVersion(changed);
  }

  function check(applied: JsonObject): void {
    const { apiVersion: version = "", kind = "", metadata } = applied;
    if (version !== apiVersion || kind !== options.kind) {
      throw badRequest(`invalid object type: ${showTypeOf(applied)}`);
    }
    const meta = isJsonObject(metadata) ? metadata : {};
    if ((meta.managedFields ?? null) !== null) {
      throw badRequest("metadata.managedFields must be nil");
    }
    const problems = checkConfiguration(schema.root, applied);
    if (problems.length === 0) return;
    const what = `${meta.namespace ?? ""}/${meta.name ?? ""}; ${showTypeOf(applied)}`;
    const why = problems.length === 1 ? problems[0] : `errors:\n  ${problems.join("\n  ")}`;
    throw badRequest(`failed to create typed patch object (${what}): ${why}`);
  }

  return {
    update: (live, next, write) => finishNow(updateSteps(live, next, write)),
    updateSteps,
    apply: (live, applied, write) => finishNow(applySteps(live, applied, write)),
    applySteps,
  };
}

/** The fields without those of other sets. */
function* leftOf(fields: FieldSet, others: readonly FieldSet[]): Steps<FieldSet> {
  let left = fields;
  for (const other of others) left = yield* subtractInSteps(left, other);
  return left;
}

/**
 * The new object, with the live one's timestamps in managedFields when nothing else differs
 * (S1-SSA-36). Must be called with the final object: decoding and defaulting may undo an apparent
 * change.
 */
export function* keepTimesIfSame(
  live: ApiObject,
  next: ApiObject,
  isLong: boolean,
): Steps<ApiObject> {
  const [was, is] = [live.metadata.managedFields ?? [], next.metadata.managedFields ?? []];
  if (was === is || was.length !== is.length || is.length === 0) return next;
  const timeless = ({ time: _, ...entry }: JsonObject) => entry;
  for (const [index, entry] of is.entries()) {
    if (!(yield* isEqual(timeless(entry), timeless(was[index] ?? {}), isLong))) return next;
  }
  const bare = ({ metadata, ...object }: ApiObject) => {
    const { managedFields: _, resourceVersion: __, ...rest } = metadata;
    return { ...object, metadata: rest };
  };
  if (!(yield* isEqual(bare(live), bare(next), isLong))) return next;
  return { ...next, metadata: { ...next.metadata, managedFields: was } };
}

/** The object's type in messages, with its group even when that is "": `/v1, Kind=Pod`. */
export function showTypeOf({ apiVersion = "", kind = "" }: JsonObject): string {
  const version = String(apiVersion);
  return `${version.includes("/") ? version : `/${version}`}, Kind=${kind}`;
}

function without(difference: Difference | undefined, ignored: FieldSet): Difference | undefined {
  if (difference === undefined || isEmptySet(ignored)) return difference;
  const changed = subtractTrees(difference.changed, ignored);
  const removed = subtractTrees(difference.removed, ignored);
  return isEmptySet(changed) && isEmptySet(removed) ? undefined : { changed, removed };
}

function replaceFields(
  entries: ManagedEntries,
  id: string,
  entry: ManagedEntry,
  fields: FieldSet,
): void {
  if (isEmptySet(fields)) entries.delete(id);
  else if (fields !== entry.fields) entries.set(id, changedEntry(entry, fields));
}

function changedEntry(entry: ManagedEntry, fields: FieldSet): ManagedEntry {
  const { written: _, ...rest } = entry;
  return { ...rest, fields };
}

function* withEntries(object: ApiObject, entries: ManagedEntries): Steps<ApiObject> {
  const managedFields = yield* writeEntries(entries);
  if (managedFields !== undefined) {
    return { ...object, metadata: { ...object.metadata, managedFields } };
  }
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function toJson(object: ApiObject): JsonObject {
  return object as unknown as JsonObject;
}
