/**
 * EntryVersions: the versions of a kind in which owners name their fields. A write is made in one of them; what it changes
 * is asked of each version that an entry has, so that the owner's fields are taken by the names that it gave them.
 */
import type { Steps } from "../../storage/base/steps.js";
import type { JsonObject } from "../api/meta.js";
import { compareInSteps, type Difference } from "./compare.js";
import { EMPTY, type FieldSet, isEmptySet, subtractTrees } from "./field-set.js";
import type { ManagedEntries, ManagedEntry } from "./managed-fields.js";
import type { MergeSchema } from "./merge-schema.js";
import { reconcileInSteps } from "./reconcile.js";

/** Another version of the kind, in which an entry names its fields. */
export interface OtherVersion {
  readonly schema: MergeSchema;
  /** Converts from the manager's version to this one. */
  toVersion(object: JsonObject): JsonObject;
  fromVersion(object: JsonObject): JsonObject;
}

export interface EntryVersionsOptions {
  /** The schema of the version that writes are made in. */
  readonly schema: MergeSchema;
  /** "apps/v1" */
  readonly apiVersion: string;
  /** @returns undefined for a version that is no longer served: its entries are dropped */
  otherVersion?(apiVersion: string): OtherVersion | undefined;
}

/** What differs between two states in each entry's version; "gone" = that version no longer exists. */
export type Comparisons = ReadonlyMap<string, Difference | undefined | "gone">;

export class EntryVersions {
  readonly #options: EntryVersionsOptions;

  constructor(options: EntryVersionsOptions) {
    this.#options = options;
  }

  /** @param ignored fields whose changes do not count */
  *compare(
    before: JsonObject,
    after: JsonObject,
    entries: ManagedEntries,
    ignored: FieldSet,
  ): Steps<Comparisons> {
    const { schema, apiVersion } = this.#options;
    const compared = new Map<string, Difference | undefined | "gone">();
    compared.set(apiVersion, without(yield* compareInSteps(schema.root, before, after), ignored));
    for (const { apiVersion: version } of entries.values()) {
      if (compared.has(version)) continue;
      const other = this.#options.otherVersion?.(version);
      if (other === undefined) compared.set(version, "gone");
      else {
        const [was, is] = [other.toVersion(before), other.toVersion(after)];
        const difference = yield* compareInSteps(other.schema.root, was, is);
        compared.set(version, without(difference, ignored));
      }
    }
    return compared;
  }

  /** An entry's fields adapted to the current schema, where a write touches them. */
  *fieldsNow(entry: ManagedEntry, { changed, removed }: Difference): Steps<FieldSet> {
    const schema = this.#schemaOf(entry.apiVersion);
    if (schema === undefined) return EMPTY;
    const fields = yield* reconcileInSteps(schema.root, entry.fields, changed);
    return yield* reconcileInSteps(schema.root, fields, removed);
  }

  #schemaOf(version: string): MergeSchema | undefined {
    const { schema, apiVersion } = this.#options;
    return version === apiVersion ? schema : this.#options.otherVersion?.(version)?.schema;
  }

  /** Transforms an object in another version; if that version is gone the object is unchanged. */
  *transform(
    version: string,
    object: JsonObject,
    change: (object: JsonObject, schema: MergeSchema) => Steps<JsonObject>,
    isConvertedBack = true,
  ): Steps<JsonObject> {
    if (version === this.#options.apiVersion) return yield* change(object, this.#options.schema);
    const other = this.#options.otherVersion?.(version);
    if (other === undefined) return object;
    const converted = other.toVersion(object);
    const changed = yield* change(converted, other.schema);
    if (!isConvertedBack) return changed;
    return changed === converted ? object : other.fromVersion(changed);
  }
}

function without(difference: Difference | undefined, ignored: FieldSet): Difference | undefined {
  if (difference === undefined || isEmptySet(ignored)) return difference;
  const changed = subtractTrees(difference.changed, ignored);
  const removed = subtractTrees(difference.removed, ignored);
  return isEmptySet(changed) && isEmptySet(removed) ? undefined : { changed, removed };
}
