/**
 * The entries of `metadata.managedFields`: owners of fields, with times (S1-SSA-01, S1-SSA-03).
 * Reads, sorts and writes them, and merges the oldest when there are too many.
 */

import { compareTexts } from "../../storage/base/compare-texts.js";
import { finishNow, oneStep, type Steps } from "../../storage/base/steps.js";
import { isEqual } from "../api/deep-equal.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { formatTime } from "../api/time.js";
import {
  canonicalInSteps,
  EMPTY,
  type FieldSet,
  isEmptySet,
  isFieldSet,
  parseFields,
  unionInSteps,
} from "./field-set.js";

/** Maximum Update entries of an object; the oldest beyond it are merged. */
const UPDATE_ENTRIES_MAX = 10;
/** The manager of merged entries. */
const ANCIENT_MANAGER = "ancient-changes";

export type ManagerOperation = "Apply" | "Update";

/** Who owns, and where. */
export interface Owner {
  readonly manager: string;
  readonly operation: ManagerOperation;
  /** The version of the field names. */
  readonly apiVersion: string;
  /** "" = the object itself. */
  readonly subresource: string;
}

export interface ManagedEntry extends Owner {
  /** The entry's last change; undefined = unknown. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The entry as it was read, while unchanged. */
  readonly written?: JsonObject;
}

/** Entries by identity: manager, operation, subresource, and (for updates) version. */
export type ManagedEntries = Map<string, ManagedEntry>;

export function entryId(entry: Owner): string {
  const version = entry.operation === "Apply" ? "" : entry.apiVersion;
  return `${entry.operation}\n${entry.manager}\n${version}\n${entry.subresource}`;
}

/**
 * Entries of a stored object, which we wrote ourselves: of their sets only the form is looked at, as whatever
 * else is in the store must not be walked like a set.
 * @returns undefined when one of them is invalid: then none counts
 */
export function* readStoredEntries(
  list: readonly JsonObject[] | undefined,
): Steps<ManagedEntries | undefined> {
  for (const { fieldsV1 } of list ?? []) {
    if ((fieldsV1 ?? null) !== null && !(yield* isFieldSet(fieldsV1))) return undefined;
    yield;
  }
  return yield* collect(list, ({ fieldsV1 }) =>
    oneStep(fieldsV1 as unknown as FieldSet | undefined),
  );
}

/**
 * Entries sent by a client. Those that equal the stored ones cost only a comparison.
 * @returns undefined when one of them is invalid: then none counts
 */
export function* readSentEntries(
  list: readonly JsonObject[] | undefined,
  stored: readonly JsonObject[] | undefined,
  isLong = false,
): Steps<ManagedEntries | undefined> {
  if (list !== undefined && (yield* areEqual(list, stored, isLong)))
    return yield* readStoredEntries(stored);
  try {
    return yield* collect(list, function* ({ fieldsV1 }) {
      return yield* canonicalInSteps(yield* parseFields(fieldsV1));
    });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function* areEqual(
  list: readonly JsonObject[],
  stored: readonly JsonObject[] | undefined,
  isLong: boolean,
): Steps<boolean> {
  if (list.length !== stored?.length) return false;
  for (const [index, entry] of list.entries()) {
    if (!(yield* isEqual(entry, stored[index], isLong))) return false;
    yield;
  }
  return true;
}

function* collect(
  list: readonly JsonObject[] | undefined,
  fieldsIn: (written: JsonObject) => Steps<FieldSet | undefined>,
): Steps<ManagedEntries | undefined> {
  const entries: ManagedEntries = new Map();
  for (const written of list ?? []) {
    const entry = yield* readEntry(written, fieldsIn);
    if (entry === undefined) return undefined;
    entries.set(entryId(entry), entry);
    yield;
  }
  return entries;
}

function* readEntry(
  written: JsonObject,
  fieldsIn: (written: JsonObject) => Steps<FieldSet | undefined>,
): Steps<ManagedEntry | undefined> {
  const { manager = "", operation, apiVersion, subresource = "", time, fieldsType } = written;
  if (operation !== "Apply" && operation !== "Update") return undefined;
  if (typeof apiVersion !== "string" || apiVersion === "") return undefined;
  if (typeof manager !== "string" || typeof subresource !== "string") return undefined;
  if (fieldsType !== "FieldsV1") return undefined;
  const fields = (yield* fieldsIn(written)) ?? EMPTY;
  const since = typeof time === "string" ? time : undefined;
  return { manager, operation, apiVersion, subresource, time: since, fields, written };
}

/** What is wrong with the first invalid entry; undefined = all are valid. */
export function problemOfEntries(list: readonly JsonObject[]): string | undefined {
  for (const [index, { operation, apiVersion, fieldsType = "" }] of list.entries()) {
    if (operation !== "Apply" && operation !== "Update") {
      return "operation must be `Apply` or `Update`";
    }
    if (typeof apiVersion !== "string" || apiVersion === "") return "apiVersion must not be empty";
    if (fieldsType === "") return `missing fieldsType in managed fields entry ${index}`;
    if (fieldsType !== "FieldsV1") {
      return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`;
    }
    if (finishNow(readSentEntries(list.slice(index, index + 1), undefined)) === undefined) {
      return `error decoding versioned set of managed fields entry ${index}`;
    }
  }
  return undefined;
}

/** Whether a client asks to clear all owners: one empty entry (S1-SSA-29..32). */
export function isReset(list: readonly JsonValue[] | undefined): boolean {
  const [only] = list ?? [];
  if (list?.length !== 1 || typeof only !== "object" || only === null) return false;
  return Object.values(only).every((value) => value === undefined || value === null);
}

/** @returns undefined without entries: then the object has no such list */
export function* writeEntries(entries: ManagedEntries): Steps<JsonObject[] | undefined> {
  if (entries.size === 0) return undefined;
  const list: JsonObject[] = [];
  for (const entry of [...entries.values()].sort(compareEntries)) {
    list.push(yield* writeEntry(entry));
    yield;
  }
  return list;
}

function* writeEntry(entry: ManagedEntry): Steps<JsonObject> {
  // An unchanged entry is reused: its set was valid when it was read.
  if (entry.written?.fieldsV1 === entry.fields) return entry.written;
  return {
    manager: entry.manager,
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: "FieldsV1",
    fieldsV1: (yield* canonicalInSteps(entry.fields)) as JsonObject,
    ...(entry.subresource === "" ? {} : { subresource: entry.subresource }),
  };
}

/** Gives an entry other fields; without any it goes. */
export function replaceFields(
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

/** Appliers first, then by age. All times have the same format, so they sort as text. */
function compareEntries(a: ManagedEntry, b: ManagedEntry): number {
  return (
    compareTexts(a.operation, b.operation) ||
    compareTexts(a.time ?? "", b.time ?? "") ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  );
}

/** Merges the oldest update entries of each version until few enough are left. */
export function* mergeOldestEntries(entries: ManagedEntries): Steps<void> {
  if (entries.size <= UPDATE_ENTRIES_MAX) return;
  const updates = [...entries].filter(([, { operation }]) => operation === "Update");
  let excess = updates.length - UPDATE_ENTRIES_MAX;
  if (excess <= 0) return;
  updates.sort(
    ([idA, a], [idB, b]) => compareTexts(a.time ?? "", b.time ?? "") || compareTexts(idA, idB),
  );
  const firstOfVersion = new Map<string, string>();
  for (const [id, entry] of updates) {
    if (excess <= 0) return;
    const first = firstOfVersion.get(entry.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(entry.apiVersion, id);
      continue;
    }
    const bucket = { ...ANCIENT, apiVersion: entry.apiVersion };
    const bucketId = entryId(bucket);
    const merged = entries.get(bucketId) ?? entries.get(first);
    if (bucketId === id || merged === undefined) continue;
    if (!entries.has(bucketId)) entries.delete(first);
    entries.delete(id);
    entries.set(bucketId, {
      ...bucket,
      time: compareTexts(merged.time ?? "", entry.time ?? "") > 0 ? merged.time : entry.time,
      fields: yield* unionInSteps(merged.fields, entry.fields),
    });
    excess--;
  }
}

const ANCIENT = { manager: ANCIENT_MANAGER, operation: "Update", subresource: "" } as const;

/** The time in whole seconds, as entries have it; its text is cached for a second. */
export function createEntryClock(now: () => number): () => string {
  let second = Number.NaN;
  let text = "";
  return () => {
    const current = Math.floor(now() / 1000);
    if (current !== second) {
      second = current;
      text = formatTime(current * 1000);
    }
    return text;
  };
}
