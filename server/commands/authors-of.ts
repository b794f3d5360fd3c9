/** Who made one version of an object out of another: the recorded write says it, else managedFields as far as they tell. Pure. */
import type { JsonObject, JsonValue } from "../api/meta.js";
import { operationOf } from "../recorder/blame.js";
import type { RecordedClient, RecordedWrite } from "../recorder/record-types.js";

interface Manager {
  readonly manager?: JsonValue;
  readonly operation?: JsonValue;
  readonly subresource?: JsonValue;
  readonly apiVersion?: JsonValue;
  readonly time?: JsonValue;
  readonly fieldsV1?: JsonValue;
}

export interface Authors {
  /** "kubectl (Update)", "controller (Update, status)" */
  readonly who: string;
  readonly time: string;
  /** Of the recorded write; "" = it is not recorded, and so for `agent`. */
  readonly user: string;
  readonly agent: string;
  readonly how: "recorded" | "managed";
}

/** @param writes of this object @param before undefined = there was none, or it is not kept */
export function authorsOf(
  before: JsonObject | undefined,
  after: JsonObject,
  { writes, clients }: Recorded,
): Authors {
  const { resourceVersion } = (after.metadata ?? {}) as { resourceVersion?: JsonValue };
  const write = writes.find(
    ({ revision, changedAnything }) => changedAnything && revision === resourceVersion,
  );
  if (write === undefined)
    return { ...managersOfChange(before, after), user: "", agent: "", how: "managed" };
  return authorOf(write, clients);
}

export function authorOf(write: RecordedWrite, clients: readonly RecordedClient[]): Authors {
  const { user = "", agent = "" } = clients.find(({ id }) => id === write.client) ?? {};
  const { fieldManager, subresource, time } = write;
  const manager = fieldManager || agent.split(/[ /]/)[0] || user;
  const where = subresource === "" ? "" : `, ${subresource}`;
  const operation = write.verb.startsWith("delete") ? "Delete" : operationOf(write);
  return { who: `${manager} (${operation}${where})`, time, user, agent, how: "recorded" };
}

interface Recorded {
  readonly writes: readonly RecordedWrite[];
  readonly clients: readonly RecordedClient[];
}

/**
 * Whoever owns more fields than before. Who lost some is no author; who changed only values has the newest time,
 * which is all that is known.
 */
function managersOfChange(
  before: JsonObject | undefined,
  after: JsonObject,
): { readonly who: string; readonly time: string } {
  const known = new Map(managersOf(before).map((entry) => [idOf(entry), entry.fieldsV1]));
  const all = managersOf(after);
  const gained = all.filter((entry) => hasMore(entry.fieldsV1, known.get(idOf(entry))));
  const newest = all.map(({ time }) => String(time ?? "")).sort();
  const own = gained.length > 0 ? gained : all.filter(({ time }) => time === newest.at(-1));
  const who = own.map(({ manager, operation, subresource }) => {
    const where = subresource === undefined ? "" : `, ${String(subresource)}`;
    return `${String(manager)} (${String(operation)}${where})`;
  });
  const times = own.map(({ time }) => String(time ?? "")).sort();
  return { who: who.join(", ") || "-", time: times.at(-1) || "-" };
}

function idOf({ manager, operation, subresource, apiVersion }: Manager): string {
  return JSON.stringify([manager, operation, subresource, apiVersion]);
}

/** Whether the set of fields has one that the other lacks. */
function hasMore(fields: JsonValue | undefined, before: JsonValue | undefined): boolean {
  if (before === undefined) return true;
  const [mine, theirs] = [membersOf(fields), membersOf(before)];
  return Object.keys(mine).some((name) => hasMore(mine[name], theirs[name]));
}

function membersOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function managersOf(object: JsonObject | undefined): readonly Manager[] {
  const { managedFields = [] } = (object?.metadata ?? {}) as { managedFields?: Manager[] };
  return managedFields;
}
