/**
 * One request to both peers, and in which parts the answers differ. Left out is what differs by nature:
 * times, uids, revisions, addresses of services, the order of errors, which kube-apiserver takes from maps, and how columns are
 * described.
 */
import { withoutVersions } from "../../server/registry/apiextensions/testing/refused-definitions.js";
import type { Answer, HttpsClient, RequestOptions } from "../harness/https-client.js";
import type { Peers } from "./peers.js";

/** As columns show ages and times. */
const AGE = /^(?:(?:\d+[smhd]){1,2}|\d{4}(?:-\d\d){2}T\d\d(?::\d\d){2}Z)$/;
const TIME = /\b\d{4}(?:-\d\d){2}T\d\d(?::\d\d){2}Z/g;
const REVISION = /(?<=resourceVersion\\":\\")\d+/g;
const CERTIFICATE = /(?<=X509SHA256=)[0-9a-f]+/g;
const UID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
/** An address that a server has given to a service. */
const SERVICE_ADDRESS = /^10(?:\.\d+){3}$/;

export interface Difference {
  readonly request: string;
  readonly ours: unknown;
  readonly theirs: unknown;
  readonly sent?: unknown;
}

export interface Asked extends RequestOptions {
  /** Makes the body of the object that is there, of which each peer has its own. */
  readonly edit?: (stored: Record<string, unknown>) => object;
}

/** @returns undefined where both say the same */
export async function compare(
  { ours, theirs }: Pick<Peers, "ours" | "theirs">,
  path: string,
  options: Asked = {},
): Promise<{ readonly status: number; readonly difference?: Difference }> {
  const ask = async (client: HttpsClient) => plain(await send(client, path, options));
  const lost = (error: unknown) => ({ status: 0, warnings: "", body: String(error) });
  const [mine, peer] = await Promise.all([ask(ours), ask(theirs).catch(lost)]);
  const status = (peer as { status: number }).status;
  if (canonical(mine) === canonical(peer)) return { status };
  const request = `${options.method ?? "GET"} ${path}`;
  return { status, difference: { request, ours: mine, theirs: peer } };
}

/** Who replaces an object names the version that it has, which each peer counts by itself. */
async function send(
  client: HttpsClient,
  path: string,
  { edit, ...options }: Asked,
): Promise<Answer> {
  const { body } = options;
  const isEdit = edit !== undefined;
  if (options.method !== "PUT" || (typeof body !== "object" && !isEdit))
    return await client.request(path, options);
  const current = await client.get(path.replace(/\?.*/, ""));
  if (isEdit) return await client.request(path, { ...options, body: edit({ ...current.object }) });
  const { resourceVersion = "" } = current.status === 200 ? current.object.metadata : {};
  const sent = body as { metadata: object };
  return await client.request(path, {
    ...options,
    body: { ...sent, metadata: { ...sent.metadata, resourceVersion } },
  });
}

/** What counts of an answer. */
function plain(answer: Answer): object {
  const warnings = [answer.headers.warning ?? []].flat().join(", ");
  const text = answer.text.replaceAll(UID, "UID").replaceAll(CERTIFICATE, "sum");
  const body = text.startsWith("{") ? (JSON.parse(text) as JsonObject) : text;
  const shown = typeof body === "string" ? body : withoutNature(body);
  return { status: answer.status, warnings, body: shown };
}

interface JsonObject {
  kind?: string;
  metadata?: Record<string, unknown>;
  message?: string;
  details?: { causes?: { message?: string; field?: string }[] };
  [member: string]: unknown;
}

function withoutNature(body: JsonObject): unknown {
  if (body.kind === "Status") return plainStatus(body);
  // A status is worked out later there, and an empty token is told.
  const { status, ...rest } = body;
  const kept = body.kind === "CustomResourceDefinition" ? rest : { ...rest, status };
  return JSON.parse(JSON.stringify(kept), (name, value: unknown) => {
    if (name === "continue" && value === "") return undefined;
    if (body.kind === "Table") {
      if (name === "description") return undefined;
      if (typeof value === "string" && AGE.test(value)) return "T";
    }
    if (typeof value === "string" && SERVICE_ADDRESS.test(value)) return "address";
    if (["uid", "resourceVersion", "creationTimestamp", "managedFields"].includes(name))
      return undefined;
    return ["lastTransitionTime", "time", "deletionTimestamp"].includes(name) ? "T" : value;
  });
}

function plainStatus(status: JsonObject): unknown {
  const { causes } = status.details ?? {};
  if (causes === undefined) return status;
  const sorted = causes
    .map(({ message = "", ...cause }) => JSON.stringify({ ...cause, message: shown(message) }))
    .sort();
  // The message of the whole has them all again, in the order in which they came.
  return { ...status, message: "", details: { ...status.details, causes: sorted } };
}

/** Without what the compiler of expressions says: that is another one, with words of its own. */
function shown(message: string): string {
  const timeless = withoutVersions(message).replaceAll(TIME, "T").replaceAll(REVISION, "N");
  return timeless.replace(/(?<=(?:compilation failed|no such overload)).*/s, "");
}

/** JSON with sorted members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) =>
    one !== null && typeof one === "object" && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
