/** The resources of a server that a command asks, by discovery, each in the version that its group prefers. */
import type { JsonObject } from "../api/meta.js";
import type { HttpsClient } from "../client/https-client.js";
import { parseJson } from "../schema/parse-json.js";

/** "k8s.io", or another vendor's: what the server's own groups end with. undefined = the server does not say. */
export function groupDomainOf(resources: readonly ServerResource[]): string | undefined {
  const review = resources.find(({ kind }) => kind === "SelfSubjectReview");
  return review?.group.replace("authentication.", "");
}

export interface ServerResource {
  /** "" = core. */
  readonly group: string;
  readonly version: string;
  /** "/api/v1", "/apis/apps/v1" */
  readonly root: string;
  readonly name: string;
  readonly singularName: string;
  readonly shortNames: readonly string[];
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  /** Whether there is a status to be written by itself. */
  readonly hasStatus: boolean;
}

/** Of a refusal that is no JSON. */
const REFUSAL_BYTES_MAX = 200;

export interface Asked {
  readonly status: number;
  readonly value: JsonObject;
}

/** @throws {Error} there is no answer, or one that is neither JSON nor a refusal */
export async function askServer(
  client: HttpsClient,
  request: { readonly method?: string; readonly path: string; readonly body?: string },
  signal: AbortSignal,
): Promise<Asked> {
  const { method = "GET", path, body } = request;
  const headers = {
    accept: "application/json",
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const answer = await client.request({ method, path, headers, ...(body && { body }) }, signal);
  try {
    return { status: answer.status, value: parseJson(answer.body) as JsonObject };
  } catch {
    if (answer.status >= 400) return { status: answer.status, value: toRefusal(answer.body) };
    throw new Error(`the server answered ${answer.status} with something that is no JSON`);
  }
}

/** Proxies refuse in words of their own: kube-apiserver says "service unavailable" of a group whose server is away. */
function toRefusal(body: Uint8Array): JsonObject {
  const [message = ""] = Buffer.from(body).toString("utf8", 0, REFUSAL_BYTES_MAX).split("\n", 1);
  return message.trim() === "" ? {} : { message: message.trim() };
}

/** What a refusal says. */
export function reasonOf({ status, value }: Asked): string {
  return `${String(value.message ?? "refused")} (${status})`;
}

interface Group {
  readonly name: string;
  readonly preferredVersion: { readonly version: string };
}

interface Listed {
  readonly name: string;
  readonly singularName?: string;
  readonly shortNames?: readonly string[];
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/**
 * @param failed told of a group whose server does not answer
 * @throws {Error} the server cannot be asked
 */
export async function listResources(
  client: HttpsClient,
  signal: AbortSignal,
  failed: (group: string, why: string) => void = () => {},
): Promise<readonly ServerResource[]> {
  const groups = await askServer(client, { path: "/apis" }, signal);
  if (groups.status !== 200) throw new Error(reasonOf(groups));
  const found: ServerResource[] = [];
  const named = (groups.value.groups ?? []) as unknown as readonly Group[];
  const all = [{ name: "", preferredVersion: { version: "v1" } }, ...named];
  for (const { name: group, preferredVersion } of all) {
    const { version } = preferredVersion;
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const answer = await askServer(client, { path: root }, signal);
    if (answer.status !== 200) {
      failed(group, reasonOf(answer));
      continue;
    }
    const listed = (answer.value.resources ?? []) as unknown as readonly Listed[];
    const names = new Set(listed.map(({ name }) => name));
    for (const { name, kind, namespaced, verbs, singularName = "", shortNames = [] } of listed) {
      if (name.includes("/")) continue;
      const hasStatus = names.has(`${name}/status`);
      const words = { name, singularName, shortNames, kind };
      found.push({ group, version, root, ...words, isNamespaced: namespaced, verbs, hasStatus });
    }
  }
  return found;
}

/** As kubectl takes it: plural, singular, short name or kind, with or without ".group". @throws {Error} */
export function findResource(resources: readonly ServerResource[], type: string): ServerResource {
  const [word = "", ...rest] = type.toLowerCase().split(".");
  const group = rest.join(".");
  const found = resources.find(
    (one) =>
      (group === "" || one.group === group) &&
      [one.name, one.singularName, one.kind.toLowerCase(), ...one.shortNames].includes(word),
  );
  if (found === undefined) throw new Error(`the server has no resource ${JSON.stringify(type)}`);
  return found;
}

export function pathOf(
  { root, name, isNamespaced }: Pick<ServerResource, "root" | "name" | "isNamespaced">,
  namespace: string,
  object = "",
): string {
  const within =
    isNamespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${within}/${name}${object === "" ? "" : `/${encodeURIComponent(object)}`}`;
}
