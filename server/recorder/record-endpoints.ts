/**
 * /debug/record: what the recorder knows, as JSON. Every authenticated user may ask, and sees the records of objects
 * that it may read itself; so the authorizer lets the paths pass, and each record is judged here.
 */

import type { JsonValue } from "../api/meta.js";
import {
  badRequest,
  forbiddenPath,
  methodNotAllowed,
  notFound,
  routeNotFound,
} from "../api/status.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { LazySignal } from "../request/lazy-signal.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import { AUTHENTICATED_GROUP, type UserInfo } from "../request/user-info.js";
import { stringifyJson } from "../schema/json-text.js";
import { blameFields } from "./blame.js";
import { explain, findWrite } from "./explain.js";
import { findLoops } from "./loops.js";
import type { ObjectTexts } from "./object-texts.js";
import type { Peers } from "./peers.js";
import { RecordIndex } from "./record-index.js";
import { LIMIT_MAX, parseRecordQuery, type RecordQuery } from "./record-query.js";
import {
  type Blame,
  type Explanation,
  type Loops,
  RECORD_PATH,
  type RecordedWrite,
  type RecordStatus,
  type Timeline,
} from "./record-types.js";
import type { Recorder } from "./recorder.js";
import { mergeRecords, type ReplicaRecords, readRecords } from "./records.js";
import { Rights } from "./rights.js";
import { timelineLinks } from "./timeline-links.js";

export interface RecordParts {
  readonly recorder: Recorder;
  readonly authorizer: Authorizer;
  readonly texts: ObjectTexts;
  readonly peers: Peers;
  /** Records that the directory did not take. */
  readonly dropped: () => number;
}

/** Of the question for one path. */
interface Asked {
  readonly query: RecordQuery;
  readonly rights: Rights;
  readonly user: UserInfo;
  readonly signal: LazySignal;
}

type Answer = (parts: RecordParts, asked: Asked) => object | Promise<object>;

const ANSWERS: Readonly<Record<string, Answer>> = {
  [RECORD_PATH]: statusOf,
  [`${RECORD_PATH}/records`]: answerRecords,
  [`${RECORD_PATH}/timeline`]: answerTimeline,
  [`${RECORD_PATH}/why`]: answerWhy,
  [`${RECORD_PATH}/blame`]: answerBlame,
  [`${RECORD_PATH}/loops`]: answerLoops,
};

/** Links are worked out for the newest writes of a timeline. */
const LINKED_MAX = 1_000;

export function withRecord(parts: RecordParts): RequestMiddleware {
  return async function record(ctx, next) {
    const { info, user } = ctx.state;
    if (info.isResourceRequest || !isRecordPath(info.path)) return next();
    const answer = ANSWERS[info.path];
    if (answer === undefined) throw routeNotFound();
    if (ctx.method !== "GET") throw methodNotAllowed();
    if (!isKnown(user)) throw forbiddenPath(`${info.path} is for authenticated users`);
    const rights = new Rights(parts.authorizer, user, ctx.state);
    const query = parseRecordQuery(info.query);
    send(ctx, await answer(parts, { query, rights, user, signal: ctx.state }));
  };
}

/** The same authorizer, by which every authenticated user may read the paths: their answers are judged by themselves. */
export function openRecordPaths(authorizer: Authorizer): Authorizer {
  return {
    name: authorizer.name,
    authorize(attributes, signal) {
      const { user, info } = attributes;
      if (
        !info.isResourceRequest &&
        info.verb === "get" &&
        isRecordPath(info.path) &&
        isKnown(user)
      ) {
        return { decision: "allow", reason: "records are judged one by one" };
      }
      return authorizer.authorize(attributes, signal);
    },
  };
}

function isRecordPath(path: string): boolean {
  return path === RECORD_PATH || path.startsWith(`${RECORD_PATH}/`);
}

function isKnown({ groups }: UserInfo): boolean {
  return groups.includes(AUTHENTICATED_GROUP);
}

function statusOf({ recorder, peers, dropped }: RecordParts): RecordStatus {
  const { replica, writes, reads, deliveries, bytes, bytesMax, startedAtMs } = recorder;
  const sinceMs = writes.dropped > 0 ? (writes.oldest?.atMs ?? startedAtMs) : startedAtMs;
  return {
    kind: "RecordStatus",
    replica,
    since: new Date(sinceMs).toISOString(),
    writes: writes.size,
    reads: reads.size,
    deliveries: deliveries.size,
    bytes,
    bytesMax,
    dropped: dropped(),
    replicas: peers.living(),
  };
}

/** What this replica has recorded, for those that put it together with that of others. */
async function answerRecords({ recorder, peers }: RecordParts, asked: Asked): Promise<object> {
  const records = await readRecords(recorder, asked.query, asked.rights);
  return { kind: "Records", replica: recorder.replica, replicas: peers.living(), ...records };
}

/** What all replicas have recorded that answered, as one would have it. */
async function readAll(
  { recorder, peers }: RecordParts,
  { rights, user, signal }: Asked,
  query: RecordQuery,
): Promise<ReplicaRecords & Pick<Timeline, "replicas">> {
  const asking = peers.ask(query, user, signal);
  const own = await readRecords(recorder, query, rights);
  const { records, replicas } = await asking;
  const merged = records.length === 0 ? own : mergeRecords([own, ...records]);
  return { ...merged, next: goOn(query.after, merged.next), replicas };
}

/** Who did not answer goes on where it was. */
function goOn(after: RecordQuery["after"], next: string): string {
  const known = next.split(",");
  const silent = [...after].filter(([name]) => !known.some((pair) => pair.startsWith(`${name}:`)));
  return [...known, ...silent.map(([name, number]) => `${name}:${number}`)].join(",");
}

async function answerTimeline(parts: RecordParts, question: Asked): Promise<Timeline> {
  const { recorder, texts } = parts;
  const { query } = question;
  const [all, asked] = await Promise.all([
    readAll(parts, question, everything(query)),
    readAll(parts, question, query),
  ]);
  const index = new RecordIndex(all);
  const links = await timelineLinks(index, asked.writes.slice(-LINKED_MAX), texts.names);
  const { replicas, next, hidden, clients, writes, reads, deliveries } = asked;
  return {
    kind: "Timeline",
    replica: recorder.replica,
    replicas,
    next,
    hidden,
    clients: together(clients, all.clients),
    writes,
    reads,
    deliveries,
    links,
  };
}

async function answerWhy(parts: RecordParts, asked: Asked): Promise<Explanation> {
  const { query } = asked;
  const { texts } = parts;
  if (query.resource === "" || query.name === "") throw badRequest("resource and name are needed");
  const all = await readAll(parts, asked, everything(query));
  const index = new RecordIndex(all);
  const write = findWrite(index, query, query.revision);
  if (write === undefined) throw notFound({ group: "", resource: "writes" }, query.name);
  const { steps, end } = explain(index, write, texts.names);
  return {
    kind: "Explanation",
    replicas: all.replicas,
    hidden: all.hidden,
    ...named(all, index, steps),
    steps,
    end,
  };
}

async function answerBlame(parts: RecordParts, asked: Asked): Promise<Blame> {
  const { query, rights } = asked;
  const { group, resource, namespace, name } = query;
  if (resource === "" || name === "") throw badRequest("resource and name are needed");
  const isSeen = await rights.mayGet(query);
  const object = isSeen ? parts.texts.read({ group, resource, namespace, name }) : undefined;
  if (object === undefined) throw notFound({ group, resource }, name);
  const own = { ...everything(query), group, resource, namespace, name };
  const { writes, clients, replicas } = await readAll(parts, asked, own);
  const fields = blameFields(object, writes, clients);
  return { kind: "Blame", replicas, object, fields };
}

async function answerLoops(parts: RecordParts, asked: Asked): Promise<Loops> {
  const { sinceMs, untilMs } = asked.query;
  const within = { ...everything(asked.query), sinceMs, untilMs };
  const records = await readAll(parts, asked, within);
  const { replicas, hidden } = records;
  const loops = findLoops(records);
  const named = new Set(loops.flatMap(({ clients }) => clients));
  const clients = records.clients.filter(({ id }) => named.has(id));
  return { kind: "Loops", replicas, hidden, clients, loops };
}

/** What the steps of an explanation name. */
function named(
  all: ReplicaRecords,
  { byId }: RecordIndex,
  steps: Explanation["steps"],
): Pick<Explanation, "clients" | "writes" | "reads"> {
  const links = steps.flatMap(({ exact, candidates }) => [...exact, ...candidates]);
  const ids = new Set([...steps.map(({ write }) => write), ...links.map(({ to }) => to)]);
  const writes = [...ids].flatMap((id) => byId.get(id) ?? []);
  const readIds = new Set(links.map(({ read }) => read));
  const reads = all.reads.filter(({ id }) => readIds.has(id));
  const clientIds = new Set([...writes, ...reads].map(({ client }) => client));
  return {
    clients: all.clients.filter(({ id }) => clientIds.has(id)),
    writes: inTime(writes),
    reads,
  };
}

function inTime(writes: readonly RecordedWrite[]): RecordedWrite[] {
  return [...writes].sort((a, b) => Number(a.revision) - Number(b.revision));
}

/** What led to something may be of any object, and older than what is asked for. */
function everything(query: RecordQuery): RecordQuery {
  const all = {
    group: "",
    resource: "",
    namespace: "",
    name: "",
    user: "",
    client: "",
    revision: "",
  };
  return { ...query, ...all, heartbeats: true, sinceMs: 0, limit: LIMIT_MAX, after: new Map() };
}

function together<T extends { readonly id: string }>(a: readonly T[], b: readonly T[]): T[] {
  return [...new Map([...a, ...b].map((item) => [item.id, item])).values()];
}

function send(ctx: RequestContext, answer: object): void {
  ctx.status = 200;
  ctx.set("Content-Type", "application/json");
  ctx.body = `${stringifyJson(answer as JsonValue)}\n`;
}
