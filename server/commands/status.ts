/**
 * `keelson status`: whether a server is ready, who one is there, its replicas, and who leads its loops.
 *
 *     server    v1.36.2+keelson.0.1.0
 *     ready     no: etcd, shutdown
 *     you       jane (developers, system:authenticated)
 *     replica   apiserver-yzi5by on vm, heard of 3 s ago
 *     leads     keelson-controllers: vm_9ac0ba60, heard of 1 s ago
 *     serves    60 types in 21 groups
 */
import type { JsonObject } from "../api/meta.js";
import type { HttpsClient } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
import type { StatusOptions } from "../config/status-options.js";
import { connect } from "../explain/connect.js";
import {
  askServer,
  groupDomainOf,
  listResources,
  reasonOf,
  type ServerResource,
} from "./server-resources.js";

interface Holder {
  readonly name: string;
  readonly holder: string;
  /** Of the replica that it is for; "" = unknown. */
  readonly host: string;
  readonly renewedAt: string;
}

interface ServerStatus {
  readonly version: string;
  readonly isReady: boolean;
  readonly failedChecks: readonly string[];
  readonly user: string;
  readonly groups: readonly string[];
  readonly types: number;
  readonly apiGroups: number;
  readonly replicas: readonly Holder[];
  readonly leaders: readonly Holder[];
  /** What could not be read, and why. */
  readonly hidden: Readonly<Record<string, string>>;
}

/** @returns what is printed, and 0 = ready, 1 = not. @throws {Error} the server cannot be asked */
export async function showStatus(
  options: StatusOptions,
  signal: AbortSignal,
): Promise<{ readonly output: string; readonly exitCode: number }> {
  const client = await connect(options, "keelson-status");
  try {
    const status = await readStatus(client, signal);
    const output =
      options.output === "json"
        ? `${stringifyJson(status as unknown as JsonObject)}\n`
        : textOf(status, Date.now());
    return { output, exitCode: status.isReady ? 0 : 1 };
  } finally {
    client.close();
  }
}

async function readStatus(client: HttpsClient, signal: AbortSignal): Promise<ServerStatus> {
  const hidden: Record<string, string> = {};
  const ready = await client.request({ method: "GET", path: "/readyz?verbose" }, signal);
  const checks = ready.body.toString("utf8").split("\n");
  const version = await askServer(client, { path: "/version" }, signal);
  const resources = await listResources(client, signal, (group, why) => {
    hidden[`group ${group}`] = why;
  });
  const leases = await readLeases(client, resources, signal);
  if (typeof leases === "string") hidden.replicas = leases;
  const all = typeof leases === "string" ? [] : leases;
  return {
    version: String(version.value.gitVersion ?? ""),
    isReady: ready.status === 200,
    failedChecks: checks.flatMap((line) => /^\[-\](\S+)/.exec(line)?.[1] ?? []),
    ...(await readSelf(client, resources, signal)),
    types: resources.length,
    apiGroups: new Set(resources.map(({ group }) => group)).size,
    replicas: all.filter(isReplica).map(holderOf),
    leaders: all.filter(isLeader).map(holderOf),
    hidden,
  };
}

/** Who the server says that one is; "" where it does not say. */
async function readSelf(
  client: HttpsClient,
  resources: readonly ServerResource[],
  signal: AbortSignal,
): Promise<Pick<ServerStatus, "user" | "groups">> {
  const review = resources.find(({ kind }) => kind === "SelfSubjectReview");
  if (review === undefined) return { user: "", groups: [] };
  const { group, version, kind, root, name } = review;
  const body = stringifyJson({ apiVersion: `${group}/${version}`, kind });
  const request = { method: "POST", path: `${root}/${name}`, body };
  const { value } = await askServer(client, request, signal);
  const { username = "", groups = [] } = ((value.status as JsonObject | undefined)?.userInfo ??
    {}) as { username?: string; groups?: string[] };
  return { user: username, groups };
}

/** @returns a text = why they cannot be read */
async function readLeases(
  client: HttpsClient,
  resources: readonly ServerResource[],
  signal: AbortSignal,
): Promise<readonly JsonObject[] | string> {
  const group = `coordination.${groupDomainOf(resources)}`;
  const leases = resources.find((one) => one.group === group && one.name === "leases");
  if (leases === undefined) return "there are no Leases";
  const answer = await askServer(client, { path: `${leases.root}/leases?limit=5000` }, signal);
  if (answer.status !== 200) return reasonOf(answer);
  return (answer.value.items ?? []) as JsonObject[];
}

function labelsOf({ metadata }: JsonObject): Readonly<Record<string, string>> {
  return ((metadata as JsonObject).labels ?? {}) as Record<string, string>;
}

/** A Lease may have none. */
function specOf({ spec }: JsonObject): JsonObject {
  return (spec ?? {}) as JsonObject;
}

/** Replicas of kube-apiserver and of Keelson have a label of their own kind. */
function isReplica(lease: JsonObject): boolean {
  return Object.keys(labelsOf(lease)).some((name) => /^apiserver\..*\/identity$/.test(name));
}

/** Of a group of processes of which one works: neither a replica's nor a node's. */
function isLeader(lease: JsonObject): boolean {
  return !isReplica(lease) && specOf(lease).leaseTransitions !== undefined;
}

function holderOf(lease: JsonObject): Holder {
  const { holderIdentity = "", renewTime = "" } = specOf(lease) as Record<string, string>;
  return {
    name: String((lease.metadata as JsonObject).name),
    holder: holderIdentity,
    host: Object.entries(labelsOf(lease)).find(([name]) => name.endsWith("/hostname"))?.[1] ?? "",
    renewedAt: renewTime,
  };
}

function textOf(status: ServerStatus, nowMs: number): string {
  const { failedChecks, groups, user } = status;
  const since = ({ renewedAt }: Holder) => {
    const seconds = Math.round((nowMs - Date.parse(renewedAt)) / 1000);
    return Number.isNaN(seconds) ? "never heard of" : `heard of ${Math.max(0, seconds)} s ago`;
  };
  const rows: [string, string][] = [
    ["server", status.version],
    ["ready", status.isReady ? "yes" : `no: ${failedChecks.join(", ")}`],
    ["you", user === "" ? "the server does not say" : `${user} (${groups.join(", ")})`],
    ...status.replicas.map((one): [string, string] => {
      return ["replica", `${one.name}${one.host && ` on ${one.host}`}, ${since(one)}`];
    }),
    ...status.leaders.map((one): [string, string] => {
      return ["leads", `${one.name}: ${one.holder || "nobody"}, ${since(one)}`];
    }),
    ["serves", `${status.types} types in ${status.apiGroups} groups`],
    ...Object.entries(status.hidden).map(([what, why]): [string, string] => {
      return ["unknown", `${what}: ${why}`];
    }),
  ];
  return rows.map(([name, text]) => `${name.padEnd(10)}${text}\n`).join("");
}
