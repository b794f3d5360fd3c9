/**
 * `keelson snapshot load`: creates the objects of a file on a server. What depends on something that is not there yet
 * (a namespace, a definition, an owner, an account) is tried again as long as others succeed.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { addAbortSignal, type Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../../storage/base/one-line.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { HttpsClient } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
import type { SnapshotOptions } from "../config/snapshot-options.js";
import { connect } from "../explain/connect.js";
import { parseJson } from "../schema/parse-json.js";
import { HEAD } from "./save-snapshot.js";
import {
  askServer,
  listResources,
  pathOf,
  reasonOf,
  type ServerResource,
} from "./server-resources.js";

const AT_ONCE = 8;
const LINES_MAX = 50;
/** Rounds without progress, as definitions and accounts take a moment to be in force. */
const IDLE_ROUNDS_MAX = 10;
const PAUSE_MS = 200;

/** Others need them. */
const FIRST = new Set(["Namespace", "CustomResourceDefinition", "PriorityClass", "ServiceAccount"]);
/** They judge, or may not answer. */
const LAST =
  /^(?:APIService|\w+WebhookConfiguration|\w+AdmissionPolicy(?:Binding)?|ResourceQuota)$/;

interface Loading {
  readonly client: HttpsClient;
  readonly signal: AbortSignal;
  /** By the uid in the file: the one on the server. */
  readonly uids: Map<string, string>;
  /** Objects that were created here, and perhaps not with all their parts yet. */
  readonly begun: Set<JsonObject>;
  /** By "apps/v1 Deployment". */
  resources: ReadonlyMap<string, ServerResource>;
}

/** @returns undefined = done; else why not */
type Outcome = "created" | "kept" | { readonly why: string };

/** @throws {Error} the server cannot be asked, or the file not read */
export async function loadSnapshot(
  options: SnapshotOptions,
  signal: AbortSignal,
): Promise<{ readonly output: string; readonly exitCode: number }> {
  const all = await readObjects(options.file, signal);
  const leaving = leavingOf(all);
  const gone = new Set([...leaving].map(({ metadata }) => membersOf(metadata).uid));
  const staying = all.filter((object) => !leaving.has(object));
  const objects = staying.map((object) => withoutOwners(object, gone));
  const client = await connect(options, "keelson-snapshot");
  try {
    const known = { uids: new Map(), begun: new Set<JsonObject>(), resources: new Map() };
    const loading: Loading = { client, signal, ...known };
    const counts = { created: 0, kept: 0 };
    const failures: string[] = [];
    const isLast = ({ kind }: JsonObject) => LAST.test(String(kind));
    const isFirst = ({ kind }: JsonObject) => FIRST.has(String(kind));
    const groups = [
      objects.filter(isFirst),
      objects.filter((object) => !isFirst(object) && !isLast(object)),
      objects.filter(isLast),
    ];
    for (const group of groups) await loadAll(group, loading, counts, failures);
    for (const object of leaving) failures.push(`${nameOf(object)}: it was being deleted`);
    const shown = failures.slice(0, LINES_MAX);
    const more = failures.length - shown.length;
    if (more > 0) shown.push(`and ${more} more`);
    const sum = `${counts.created} created, ${counts.kept} there already, ${failures.length} not loaded`;
    return {
      output: [...shown, sum, ""].join("\n"),
      exitCode: failures.length > 0 ? 1 : 0,
    };
  } finally {
    client.close();
  }
}

/** What somebody has deleted, and what goes with it: created again it would be as if nobody had. */
function leavingOf(objects: readonly JsonObject[]): ReadonlySet<JsonObject> {
  const leaving = new Set<JsonObject>();
  const uids = new Set<unknown>();
  const namespaces = new Set<unknown>();
  for (let known = -1; known < leaving.size; ) {
    known = leaving.size;
    for (const object of objects) {
      const metadata = membersOf(object.metadata);
      const { namespace, uid, name } = metadata;
      const isDeleted = (metadata.deletionTimestamp ?? null) !== null;
      const owners = (metadata.ownerReferences ?? []) as readonly JsonObject[];
      const isOwned = owners.length > 0 && owners.every((owner) => uids.has(owner.uid));
      if (!isDeleted && !isOwned && !namespaces.has(namespace)) continue;
      leaving.add(object);
      const finalizers = (metadata.finalizers ?? []) as readonly JsonValue[];
      // Who deleted it wants its dependents to stay.
      if (!isDeleted || !finalizers.includes("orphan")) uids.add(uid);
      if (object.kind === "Namespace") namespaces.add(name);
    }
  }
  return leaving;
}

/** What stays without some of its owners names them no longer. */
function withoutOwners(object: JsonObject, gone: ReadonlySet<unknown>): JsonObject {
  const { ownerReferences, ...metadata } = membersOf(object.metadata);
  const owners = (ownerReferences ?? []) as readonly JsonObject[];
  const left = owners.filter(({ uid }) => !gone.has(uid));
  if (left.length === owners.length) return object;
  return {
    ...object,
    metadata: { ...metadata, ...(left.length > 0 && { ownerReferences: left }) },
  };
}

async function readObjects(file: string, signal: AbortSignal): Promise<JsonObject[]> {
  const isStandardInput = file === "-";
  const name = isStandardInput ? "standard input" : file;
  const objects: JsonObject[] = [];
  let lines = 0;
  const input = addAbortSignal(signal, isStandardInput ? process.stdin : createReadStream(file));
  for await (const line of linesOf(input, name)) {
    lines++;
    const value = membersOf(parseLine(line, `${name}, line ${lines}`));
    if (lines > 1) objects.push(value);
    else if (value.kind !== HEAD.kind || value.version !== HEAD.version) {
      throw new Error(`${name} is not a snapshot of this command`);
    }
  }
  if (lines === 0) throw new Error(`${name} is empty`);
  return objects;
}

/** @throws {Error} with one line */
async function* linesOf(input: Readable, name: string): AsyncIterable<string> {
  try {
    // Begun at once: a failed opening is told by the stream alone, before somebody reads.
    yield* createInterface({ input, crlfDelay: 1 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`cannot read ${JSON.stringify(name)} (${code})`, { cause: error });
  }
}

/** @throws {Error} with one line */
function parseLine(line: string, place: string): JsonValue {
  try {
    return parseJson(Buffer.from(line));
  } catch (error) {
    throw new Error(`${place}: ${oneLine(error)}`, { cause: error });
  }
}

async function loadAll(
  objects: readonly JsonObject[],
  loading: Loading,
  counts: { created: number; kept: number },
  failures: string[],
): Promise<void> {
  let left = objects;
  let idleRounds = 0;
  while (left.length > 0) {
    // Definitions have made new ones.
    loading.resources = await resourcesOf(loading);
    const again: JsonObject[] = [];
    const reasons = new Map<JsonObject, string>();
    const rest = left.values();
    const worker = async () => {
      for (const object of rest) {
        const outcome = await load(object, loading).catch((error) => ({ why: oneLine(error) }));
        if (typeof outcome === "string") counts[outcome]++;
        else {
          again.push(object);
          reasons.set(object, outcome.why);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    idleRounds = again.length < left.length ? 0 : idleRounds + 1;
    left = again;
    if (idleRounds >= IDLE_ROUNDS_MAX) {
      for (const object of left) failures.push(`${nameOf(object)}: ${reasons.get(object)}`);
      return;
    }
    if (left.length > 0) await sleep(PAUSE_MS, undefined, { signal: loading.signal });
  }
}

async function resourcesOf({ client, signal }: Loading) {
  const resources = await listResources(client, signal);
  return new Map(
    resources.map((resource) => {
      const { group, version, kind } = resource;
      return [`${group === "" ? version : `${group}/${version}`} ${kind}`, resource];
    }),
  );
}

async function load(object: JsonObject, loading: Loading): Promise<Outcome> {
  const { client, signal, uids } = loading;
  const resource = loading.resources.get(`${object.apiVersion} ${object.kind}`);
  if (resource === undefined) return { why: "the server has no such kind" };
  const metadata = membersOf(object.metadata);
  const namespace = String(metadata.namespace ?? "");
  const owners = (metadata.ownerReferences ?? []) as readonly JsonObject[];
  const missing = owners.find(({ uid }) => !uids.has(String(uid)));
  if (missing !== undefined) return { why: `its owner ${String(missing.name)} is not there` };
  const body = toCreate(object, uids);
  const path = pathOf(resource, namespace);
  const made = await askServer(client, { method: "POST", path, body: stringifyJson(body) }, signal);
  const own = pathOf(resource, namespace, String(metadata.name));
  if (made.status < 300) loading.begun.add(object);
  // A name that is taken: its uid is that of the owner that others name.
  const there = made.status < 300 ? made : await askServer(client, { path: own }, signal);
  if (there.status >= 300) return { why: reasonOf(made) };
  const { uid } = membersOf(there.value.metadata);
  uids.set(String(metadata.uid), String(uid));
  if (!loading.begun.has(object)) return made.status === 409 ? "kept" : { why: reasonOf(made) };
  let last = there.value;
  for (const [part, members] of partsOf(object, resource, last)) {
    const text = stringifyJson({ ...last, ...members });
    const request = { method: "PUT", path: `${own}/${part}`, body: text };
    const answer = await askServer(client, request, signal);
    if (answer.status >= 300) return { why: `its ${part}: ${reasonOf(answer)}` };
    last = answer.value;
  }
  return "created";
}

/** What is written by itself, in order: a decision goes before the certificate that it allows. */
function* partsOf(
  object: JsonObject,
  { hasStatus }: ServerResource,
  created: JsonObject,
): Iterable<readonly [part: string, members: JsonObject]> {
  const { kind, status } = object;
  const { ephemeralContainers = null, nodeName = "" } = membersOf(object.spec);
  if (kind === "Pod" && ephemeralContainers !== null) {
    yield ["ephemeralcontainers", { spec: { ...membersOf(created.spec), ephemeralContainers } }];
  }
  if (kind === "CertificateSigningRequest") {
    const all = (membersOf(status).conditions ?? []) as readonly JsonObject[];
    const conditions = all.filter(({ type }) => type === "Approved" || type === "Denied");
    if (conditions.length > 0) yield ["approval", { status: { conditions } }];
  }
  if (!hasStatus || status === undefined) return;
  // Older servers keep the nomination of a pod that is bound.
  const { nominatedNodeName: _, ...bound } = membersOf(status);
  yield ["status", { status: kind === "Pod" && nodeName !== "" ? bound : status }];
}

/** Without what the server gives, under the uids of its owners there. */
function toCreate(object: JsonObject, uids: ReadonlyMap<string, string>): JsonObject {
  const {
    uid: _,
    resourceVersion: __,
    creationTimestamp: ___,
    deletionTimestamp: ____,
    deletionGracePeriodSeconds: _____,
    generation: ______,
    managedFields: _______,
    ...metadata
  } = membersOf(object.metadata);
  const owners = (metadata.ownerReferences ?? []) as readonly JsonObject[];
  const ownerReferences = owners.map((owner) => ({
    ...owner,
    uid: uids.get(String(owner.uid)) ?? String(owner.uid),
  }));
  // Pods of a Job are found by its uid.
  const labels = Object.entries(membersOf(metadata.labels)).map(([key, value]) => {
    return [key, uids.get(String(value)) ?? value] as const;
  });
  const kept = {
    ...metadata,
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
    ...(owners.length > 0 && { ownerReferences }),
  };
  return {
    ...object,
    metadata: kept,
    ...(object.kind === "Service" && { spec: ownAddress(object) }),
    ...(object.kind === "Job" && { spec: ownSelector(object) }),
    ...(object.kind === "Pod" && { spec: ownClasses(object) }),
  };
}

/** A Job that does not say otherwise is given a selector and labels by its uid, which is another one there. */
function ownSelector({ spec }: JsonObject): JsonObject {
  const members = membersOf(spec);
  if (members.manualSelector === true) return members;
  const { selector: _, ...kept } = members;
  const template = membersOf(members.template);
  const metadata = membersOf(template.metadata);
  const labels = Object.entries(membersOf(metadata.labels)).filter(
    ([key]) => !/^(?:[^/]+\/)?(?:controller-uid|job-name)$/.test(key),
  );
  const own = { ...metadata, labels: Object.fromEntries(labels) };
  return { ...kept, template: { ...template, metadata: own } };
}

/** What the classes of a pod give it is theirs to say there. Containers for debugging come later. */
function ownClasses({ spec }: JsonObject): JsonObject {
  const { priority: _, preemptionPolicy: __, overhead: ___, ...members } = membersOf(spec);
  const { ephemeralContainers: ____, ...kept } = members;
  return kept;
}

/** The addresses of the cluster are those of another range there. */
function ownAddress({ spec }: JsonObject): JsonObject {
  const members = membersOf(spec);
  if (members.clusterIP === "None") return members;
  const { clusterIP: _, clusterIPs: __, ...kept } = members;
  return kept;
}

function nameOf({ kind, metadata }: JsonObject): string {
  const { namespace = "", name = "" } = membersOf(metadata);
  return `${String(kind)} ${namespace === "" ? "" : `${String(namespace)}/`}${String(name)}`;
}

function membersOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
