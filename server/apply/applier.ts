/**
 * Applier: what an apply does to an object and to its owners (S1-SSA-10 to S1-SSA-16). It merges the values, removes what its
 * manager no longer applies, and takes the changed fields from their owners, or says the conflict.
 */
import { oneStep, type Steps } from "../../storage/base/steps.js";
import type { JsonObject } from "../api/meta.js";
import { type Conflict, conflictError } from "./conflicts.js";
import type { Comparisons, EntryVersions } from "./entry-versions.js";
import { fieldsInSteps } from "./field-extraction.js";
import {
  EMPTY,
  equalSets,
  type FieldSet,
  intersectInSteps,
  isEmptySet,
  subtractAll,
  subtractInSteps,
  subtractTrees,
  unionInSteps,
} from "./field-set.js";
import { fieldsLastApplied, KUBECTL_MANAGER } from "./last-applied.js";
import {
  entryId,
  type ManagedEntries,
  type ManagedEntry,
  type Owner,
  replaceFields,
} from "./managed-fields.js";
import type { MergeSchema } from "./merge-schema.js";
import { mergeInSteps, pruneObject, withAppliedNulls } from "./merge-values.js";

export interface ApplierOptions {
  readonly schema: MergeSchema;
  /** "apps/v1" */
  readonly apiVersion: string;
  /** The key of kubectl's annotation. */
  readonly annotation: string;
  readonly versions: EntryVersions;
  /** The time as entries have it. */
  now(): string;
}

/** Who applies, and what it may. */
export interface Apply {
  readonly owner: Owner;
  /** Fields that the apply neither changes nor owns. */
  readonly ignored: FieldSet;
  /** Whether fields are taken from their owners instead of causing a conflict. */
  readonly force: boolean;
  /** The version in refusals; undefined = each owner's. */
  readonly shownVersion?: string | undefined;
}

/** What an owner loses by an apply: the fields that it changes, and those that it removes. */
interface Loss {
  readonly id: string;
  readonly owner: ManagedEntry;
  /** Its fields before. */
  readonly owned: FieldSet;
  readonly fields: FieldSet;
  readonly removed: FieldSet;
}

export class Applier {
  readonly #options: ApplierOptions;

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  /** Merges the values, and updates `entries` to the state after the apply. @throws {StatusError} 409 */
  *merge(
    live: JsonObject,
    applied: JsonObject,
    entries: ManagedEntries,
    apply: Apply,
  ): Steps<JsonObject> {
    const { schema, apiVersion, versions, now } = this.#options;
    const id = entryId(apply.owner);
    const last = entries.get(id);
    const fields = subtractTrees(yield* fieldsInSteps(schema.root, applied), apply.ignored);
    entries.delete(id);
    yield;
    let merged = yield* mergeInSteps(schema.root, live, applied);
    yield;
    const isSame = last?.apiVersion === apiVersion && (yield* equalSets(last.fields, fields));
    // Who applies the same fields again removes none.
    if (last !== undefined && !isSame) {
      merged = yield* this.#prune(merged, last, fields, entries);
      merged = yield* withAppliedNulls(schema.root, merged, applied);
      yield;
    }
    const compared = yield* versions.compare(live, merged, entries, apply.ignored);
    yield;
    yield* this.#takeOver(live, entries, compared, apply);
    if (isEmptySet(fields)) return merged;
    const isChanged = compared.get(apiVersion) !== undefined;
    // An apply that changes no value gives no time.
    const time = isChanged ? now() : last?.time;
    entries.set(id, isSame && !isChanged ? last : { ...apply.owner, time, fields });
    return merged;
  }

  /** Takes changed fields from other owners: by force, or if they are kubectl's own earlier ones. */
  *#takeOver(
    live: JsonObject,
    entries: ManagedEntries,
    compared: Comparisons,
    { owner: { manager }, force, shownVersion }: Apply,
  ): Steps<void> {
    const { schema, apiVersion, annotation, versions } = this.#options;
    const losses: Loss[] = [];
    for (const [id, owner] of [...entries]) {
      const difference = compared.get(owner.apiVersion);
      if (difference === "gone") entries.delete(id);
      if (difference === undefined || difference === "gone") continue;
      const owned = yield* versions.fieldsNow(owner, difference);
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
      const refused: Conflict[] = [];
      for (const { owner, fields } of conflicts) {
        const left = yield* subtractInSteps(fields, allowed);
        if (!isEmptySet(left)) refused.push({ owner, fields: left });
        yield;
      }
      if (refused.length > 0) throw conflictError(refused, shownVersion);
    }
    for (const { id, owner, owned, fields, removed } of losses) {
      replaceFields(entries, id, owner, yield* subtractAll(owned, [fields, removed]));
      yield;
    }
  }

  /** Removes fields that the applier owned, no longer applies, and nobody else owns (S1-SSA-16). */
  *#prune(
    merged: JsonObject,
    last: ManagedEntry,
    fields: FieldSet,
    others: ManagedEntries,
  ): Steps<JsonObject> {
    const { apiVersion, versions } = this.#options;
    const kept = new Map<string, FieldSet>([[apiVersion, fields]]);
    for (const { apiVersion: version, fields: theirs } of others.values()) {
      kept.set(version, yield* unionInSteps(kept.get(version) ?? EMPTY, theirs));
      yield;
    }
    let pruned = yield* versions.transform(last.apiVersion, merged, (object, own) =>
      pruneObject(own.root, object, last.fields, kept.get(last.apiVersion) ?? EMPTY),
    );
    for (const [version, theirs] of kept) {
      if (version === last.apiVersion || pruned === merged) continue;
      yield;
      // In other versions: restores removed fields that have an owner there.
      const rest = pruned;
      pruned = yield* versions.transform(version, merged, function* (object, own) {
        const left = yield* versions.transform(version, rest, oneStep, false);
        const stays = yield* fieldsInSteps(own.root, left);
        const gone = yield* subtractInSteps(yield* fieldsInSteps(own.root, object), stays);
        const stay = yield* unionInSteps(stays, theirs);
        return yield* pruneObject(own.root, object, gone, stay);
      });
    }
    return pruned;
  }
}
