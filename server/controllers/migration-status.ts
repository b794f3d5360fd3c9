/**
 * The status of a StorageVersionMigration, and the migration condition of a custom kind's definition, in kube-apiserver's
 * words:
 *
 *   (nothing) ──► Running ──► Succeeded │ Failed      an object says so for good; another try is another object
 *
 *   StorageMigrating of the definition: True while it runs, then False, and why
 */
import type { ApiObject } from "../api/meta.js";
import { firstOf } from "../api/shown-value.js";
import type { Definition, DefinitionStatus } from "../registry/apiextensions/definition.js";
import { Conditions } from "../registry/apiextensions/definition-status.js";

export interface MigrationCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}

export interface Migration extends ApiObject {
  spec?: { readonly resource?: { readonly group?: string; readonly resource?: string } };
  status?: {
    readonly conditions?: readonly MigrationCondition[];
    readonly resourceVersion?: string;
  };
}

export function isTrue({ status }: Migration, type: string): boolean {
  return (status?.conditions ?? []).some((one) => one.type === type && one.status === "True");
}

/** Whether the migration has ended. */
export function isOver(migration: Migration): boolean {
  return isTrue(migration, "Succeeded") || isTrue(migration, "Failed");
}

/** @param progress "" = none to report */
export function running(migration: Migration, progress: string, now: string): Migration {
  const message = `The migration is running${progress === "" ? "" : `: ${progress}`}`;
  return withCondition(migration, { type: "Running", reason: "MigrationRunning", message }, now);
}

export function succeeded(migration: Migration, now: string): Migration {
  const reason = "StorageVersionMigrationSucceeded";
  return withCondition(
    without(migration, "Running"),
    { type: "Succeeded", reason, message: "" },
    now,
  );
}

export function failed(migration: Migration, why: string, now: string): Migration {
  const reason = "StorageVersionMigrationFailed";
  const message = `migration encountered unhandled error: ${why}`;
  return withCondition(without(migration, "Running"), { type: "Failed", reason, message }, now);
}

/** The maximum length of a condition's message. */
const MESSAGE_CHARS_MAX = 32_768;

function withCondition(
  migration: Migration,
  condition: { readonly type: string; readonly reason: string; readonly message: string },
  now: string,
): Migration {
  const before = migration.status?.conditions ?? [];
  const known = before.find(({ type }) => type === condition.type);
  const since = known?.status === "True" ? (known.lastTransitionTime ?? now) : now;
  const conditions = [
    ...before.filter(({ type }) => type !== condition.type),
    {
      ...condition,
      message: firstOf(condition.message, MESSAGE_CHARS_MAX),
      status: "True",
      lastTransitionTime: since,
    },
  ];
  return { ...migration, status: { ...migration.status, conditions } };
}

function without(migration: Migration, type: string): Migration {
  const conditions = (migration.status?.conditions ?? []).filter((one) => one.type !== type);
  return { ...migration, status: { ...migration.status, conditions } };
}

/** The definition while its objects are being rewritten. */
export function definitionMigrating(
  definition: Definition,
  migration: string,
  now: string,
): Definition {
  const message = `Migration ${migration} is running`;
  const status = withMigrating(definition, now, "True", "MigrationRunning", message);
  return { ...definition, status };
}

/**
 * The definition after the rewrite. Its stored versions are reduced to one, unless its specification has
 * changed since the objects were read.
 */
export function definitionMigrated(
  definition: Definition,
  isUnchanged: boolean,
  now: string,
): Definition {
  const message = isUnchanged
    ? "The migration has succeeded and the stored versions have been updated"
    : "The migration has succeeded but the stored versions have not been updated due to a generation mismatch";
  const status = withMigrating(definition, now, "False", "MigrationSucceeded", message);
  const stored = definition.spec?.versions?.find(({ storage }) => storage === true)?.name;
  const isTrimmed = isUnchanged && stored !== undefined;
  return { ...definition, status: { ...status, ...(isTrimmed && { storedVersions: [stored] }) } };
}

export function definitionNotMigrated(definition: Definition, now: string): Definition {
  const message = "The migration has failed";
  return {
    ...definition,
    status: withMigrating(definition, now, "False", "MigrationFailed", message),
  };
}

function withMigrating(
  { status, metadata }: Definition,
  now: string,
  is: "True" | "False",
  reason: string,
  message: string,
): DefinitionStatus {
  const conditions = new Conditions(status?.conditions ?? [], now);
  const observedGeneration = Number(metadata.generation ?? 0);
  conditions.set({ type: "StorageMigrating", status: is, reason, message, observedGeneration });
  return { ...status, conditions: conditions.all };
}
