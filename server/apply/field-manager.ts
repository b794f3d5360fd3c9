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
import { isJsonObject, withValueAt } from "../api/json-object.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { badRequest } from "../api/status.js";
import { Applier } from "./applier.js";
import { checkConfiguration } from "./check-configuration.js";
import { type Comparisons, EntryVersions, type OtherVersion } from "./entry-versions.js";
import { EMPTY, type FieldSet, isEmptySet, subtractAll, unionInSteps } from "./field-set.js";
import { KUBECTL_MANAGER, lastAppliedKey, withLastApplied } from "./last-applied.js";
import {
  createEntryClock,
  entryId,
  isReset,
  type ManagedEntries,
  type ManagedEntry,
  type ManagerOperation,
  mergeOldestEntries,
  type Owner,
  readSentEntries,
  readStoredEntries,
  replaceFields,
  writeEntries,
} from "./managed-fields.js";
import type { MergeSchema } from "./merge-schema.js";
import { fieldElement } from "./path-element.js";

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
  /** Set for a part that is one field, which is tracked if that field has an owner; absent = the whole object. */
  readonly field?: readonly string[] | undefined;
  /** Whether it is worth while to cut each step of the work. */
  readonly isLong?: boolean;
}

export interface ApplyWrite extends Write {
  /** Whether fields are taken from their owners instead of causing a conflict. */
  readonly force: boolean;
  /** The version in refusals for a part with a kind of its own; absent = each owner's. */
  readonly shownVersion?: string;
}

/** The owner of fields set before ownership was tracked. */
const BEFORE_FIRST_APPLY = "before-first-apply";
const UNKNOWN_MANAGER = "unknown";

export class FieldManager {
  readonly #options: FieldManagerOptions;
  readonly #annotation: string;
  readonly #now: () => string;
  readonly #versions: EntryVersions;
  readonly #applier: Applier;

  constructor(options: FieldManagerOptions) {
    this.#options = options;
    this.#annotation = lastAppliedKey(options.naming);
    this.#now = createEntryClock(options.now);
    this.#versions = new EntryVersions(options);
    this.#applier = new Applier({
      schema: options.schema,
      apiVersion: options.apiVersion,
      annotation: this.#annotation,
      versions: this.#versions,
      now: this.#now,
    });
  }

  /**
   * The new object with its managedFields, for create (no `live`), update and patch. A valid list in
   * `next` counts: clients may edit it, and clear it by one empty entry.
   */
  update(live: ApiObject | undefined, next: ApiObject, write: Write): ApiObject {
    return finishNow(this.updateSteps(live, next, write));
  }

  /** The same in steps. */
  *updateSteps(live: ApiObject | undefined, next: ApiObject, write: Write): Steps<ApiObject> {
    const sent = next.metadata.managedFields;
    const isCleared = write.subresource === "" && isReset(sent);
    const entries = isCleared
      ? new Map<string, ManagedEntry>()
      : yield* this.#entriesFor(live, next, write);
    // The ownership of an object without entries is not tracked until its first apply.
    if (live !== undefined && !isTracked(entries, write) && !isCleared) {
      return yield* withEntries(next, entries);
    }
    yield;
    const before = live === undefined ? this.#options.schema.empty : toJson(live);
    const compared = yield* this.#compare(before, toJson(next), entries, write);
    yield;
    yield* this.#follow(entries, compared, write);
    return yield* withEntries(next, entries);
  }

  /**
   * The entries of the new object; those of the live one if there are none, they are invalid, or the
   * write is to a subresource.
   */
  *#entriesFor(
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
  *#follow(entries: ManagedEntries, compared: Comparisons, write: Write): Steps<void> {
    const own = compared.get(this.#options.apiVersion);
    const changed = own === undefined || own === "gone" ? EMPTY : own.changed;
    const owner = this.#ownerOf(write, "Update");
    const id = entryId(owner);
    const previous = entries.get(id);
    for (const [otherId, entry] of entries) {
      const difference = compared.get(entry.apiVersion);
      if (difference === "gone") entries.delete(otherId);
      else if (difference !== undefined) {
        // The writer keeps its fields: it gets the changed ones anyway.
        const taken = otherId === id ? EMPTY : difference.changed;
        const fields = yield* this.#versions.fieldsNow(entry, difference);
        const left = yield* subtractAll(fields, [taken, difference.removed]);
        replaceFields(entries, otherId, entry, left);
      } else if (isEmptySet(entry.fields)) entries.delete(otherId);
      yield;
    }
    if (!isEmptySet(changed)) {
      const kept = entries.get(id)?.fields ?? EMPTY;
      const fields = yield* unionInSteps(kept, changed);
      const time = this.#now();
      const isSame = previous !== undefined && previous.fields === fields && previous.time === time;
      if (!isSame) entries.set(id, { ...owner, time, fields });
    }
    yield* mergeOldestEntries(entries);
  }

  #compare(
    before: JsonObject,
    after: JsonObject,
    entries: ManagedEntries,
    { subresource }: Write,
  ): Steps<Comparisons> {
    return this.#versions.compare(before, after, entries, this.#ignoredBy(subresource));
  }

  #ignoredBy(subresource: string): FieldSet {
    return this.#options.resetFields?.(subresource) ?? EMPTY;
  }

  #ownerOf({ manager, subresource }: Write, operation: ManagerOperation): Owner {
    const { apiVersion } = this.#options;
    const name = manager === "" ? UNKNOWN_MANAGER : manager;
    return { manager: name, apiVersion, subresource, operation };
  }

  /**
   * The live object (undefined = none) merged with a configuration; not yet decoded, without
   * defaults. @throws {StatusError} 400 for an invalid configuration, 409 for conflicts
   */
  apply(live: ApiObject | undefined, applied: JsonObject, write: ApplyWrite): ApiObject {
    return finishNow(this.applySteps(live, applied, write));
  }

  /** The same in steps. */
  *applySteps(
    live: ApiObject | undefined,
    applied: JsonObject,
    write: ApplyWrite,
  ): Steps<ApiObject> {
    yield* this.#check(applied);
    yield;
    const { apiVersion, kind, schema } = this.#options;
    const current: JsonObject =
      live === undefined ? { apiVersion, kind, metadata: {} } : toJson(live);
    const entries = (yield* readStoredEntries(live?.metadata.managedFields)) ?? new Map();
    if (live !== undefined && !isTracked(entries, write)) {
      const { field } = write;
      const before = field === undefined ? schema.empty : withValueAt(current, field, undefined);
      const compared = yield* this.#compare(before, current, entries, write);
      yield* this.#follow(entries, compared, { ...write, manager: BEFORE_FIRST_APPLY });
    }
    const merged = yield* this.#applier.merge(current, applied, entries, {
      owner: this.#ownerOf(write, "Apply"),
      ignored: this.#ignoredBy(write.subresource),
      force: write.force,
      shownVersion: write.shownVersion,
    });
    const isKubectl = write.manager === KUBECTL_MANAGER;
    const result = isKubectl ? withLastApplied(this.#annotation, merged, applied) : merged;
    return yield* withEntries(result as unknown as ApiObject, entries);
  }

  *#check(applied: JsonObject): Steps<void> {
    const { apiVersion: version = "", kind = "", metadata } = applied;
    if (version !== this.#options.apiVersion || kind !== this.#options.kind) {
      throw badRequest(`invalid object type: ${showTypeOf(applied)}`);
    }
    const meta = isJsonObject(metadata) ? metadata : {};
    if ((meta.managedFields ?? null) !== null) {
      throw badRequest("metadata.managedFields must be nil");
    }
    const problems = yield* checkConfiguration(this.#options.schema.root, applied);
    if (problems.length === 0) return;
    const what = `${meta.namespace ?? ""}/${meta.name ?? ""}; ${showTypeOf(applied)}`;
    const why = problems.length === 1 ? problems[0] : `errors:\n  ${problems.join("\n  ")}`;
    throw badRequest(`failed to create typed patch object (${what}): ${why}`);
  }
}

/** The object's type in messages, with its group even when that is "": `/v1, Kind=Pod`. */
export function showTypeOf({ apiVersion = "", kind = "" }: JsonObject): string {
  const version = String(apiVersion);
  return `${version.includes("/") ? version : `/${version}`}, Kind=${kind}`;
}

/** Whether what is written has owners, or had none at its creation. */
function isTracked(entries: ManagedEntries, { field }: Write): boolean {
  if (field === undefined) return entries.size > 0;
  const isIn = (fields: FieldSet) =>
    field.reduce<FieldSet | undefined>((set, name) => set?.[fieldElement(name)], fields) !==
    undefined;
  return [...entries.values()].some(({ fields }) => isIn(fields));
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
