/** What a question asks of the recorder, out of the query of its URL. */
import { badRequest } from "../api/status.js";
import type { Query } from "../request/query.js";
import type { KeptWrite } from "./kept.js";

export interface RecordQuery {
  readonly group: string;
  /** Plural; "" = all resources. */
  readonly resource: string;
  /** "" = all. */
  readonly namespace: string;
  /** "" = all. */
  readonly name: string;
  /** "" = all. */
  readonly user: string;
  /** Of a client; "" = all. */
  readonly client: string;
  /** Whether heartbeats are shown, which say only that somebody is alive. */
  readonly heartbeats: boolean;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** How many writes at most, the newest. */
  readonly limit: number;
  /** By replica: the number of the last write that is known already. */
  readonly after: ReadonlyMap<string, number>;
  /** "" = the newest. */
  readonly revision: string;
}

const LIMIT = 500;
export const LIMIT_MAX = 10_000;

/** @throws {StatusError} 400 */
export function parseRecordQuery(query: Query): RecordQuery {
  const text = (name: string) => query.get(name) ?? "";
  const revision = text("revision");
  if (!/^\d{0,19}$/.test(revision)) throw badRequest("revision: not a resourceVersion");
  return {
    group: text("group"),
    resource: text("resource"),
    namespace: text("namespace"),
    name: text("name"),
    user: text("user"),
    client: text("client"),
    heartbeats: query.get("heartbeats") !== "false",
    sinceMs: numberOf("sinceMs", text("sinceMs"), 0),
    untilMs: numberOf("untilMs", text("untilMs"), Number.MAX_SAFE_INTEGER),
    limit: Math.min(LIMIT_MAX, numberOf("limit", text("limit"), LIMIT)),
    after: parseAfter(text("after")),
    revision,
  };
}

/** The same question for another replica. */
export function writeRecordQuery(query: RecordQuery): URLSearchParams {
  const { group, resource, namespace, name, user, client, revision } = query;
  const { heartbeats, sinceMs, untilMs, limit, after } = query;
  const texts = { group, resource, namespace, name, user, client, revision };
  const numbers = { sinceMs: String(sinceMs), untilMs: String(untilMs), limit: String(limit) };
  const pairs = [...after].map(([replica, number]) => `${replica}:${number}`);
  const shown = { heartbeats: String(heartbeats) };
  return new URLSearchParams({ ...texts, ...numbers, ...shown, after: pairs.join(",") });
}

/** Whether a write is among what is asked for. */
export function isShownFor(query: RecordQuery, write: KeptWrite): boolean {
  const { group, resource, namespace, name, user, client, heartbeats, sinceMs, untilMs } = query;
  return (
    write.atMs >= sinceMs &&
    write.atMs <= untilMs &&
    (resource === "" || (write.resource === resource && write.group === group)) &&
    (namespace === "" || write.namespace === namespace) &&
    (name === "" || write.name === name) &&
    (user === "" || write.client.user === user) &&
    (client === "" || write.client.id === client) &&
    (heartbeats || !isHeartbeat(write))
  );
}

/**
 * Whether a question is about some objects or writers. How many records of them are hidden is not told: it says to who may
 * not read them that they are there, and how busy.
 */
export function isNarrow({ group, resource, namespace, name, user, client }: RecordQuery): boolean {
  return [group, resource, namespace, name, user, client].some((each) => each !== "");
}

/** A Lease that was renewed, and no more: who takes or gives one up is shown. */
function isHeartbeat({ group, resource, changedPaths }: KeptWrite): boolean {
  const isLease = resource === "leases" && group.startsWith("coordination.");
  return isLease && changedPaths.length === 1 && changedPaths[0] === "spec.renewTime";
}

function numberOf(name: string, text: string, fallback: number): number {
  if (text === "") return fallback;
  const number = Number(text);
  if (Number.isFinite(number) && number >= 0) return number;
  throw badRequest(`${name}: not a number from 0 on`);
}

/** "a1b2:17,c3d4:5" */
function parseAfter(text: string): ReadonlyMap<string, number> {
  const pairs = text === "" ? [] : text.split(",").map((pair) => pair.split(":"));
  return new Map(
    pairs.map(([replica = "", number]) => [replica, numberOf("after", number ?? "", 0)]),
  );
}
