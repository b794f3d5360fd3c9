/**
 * DryRuns: finds where an object is written, writes it as a dry run in somebody's name, and reads the
 * explanation that a server of ours answers with.
 */

import type { JsonObject } from "../api/meta.js";
import { parseGroupVersion } from "../api/names.js";
import type { HttpsClient, IncomingResponse } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
import type { ExplainedOperation, ExplainOptions } from "../config/explain-options.js";
import { parseJson } from "../schema/parse-json.js";
import type { Explained, Explanation } from "./format-explanations.js";

interface FoundResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

interface WriteTarget {
  /** The path of the collection: "/api/v1/namespaces/default/configmaps". */
  readonly path: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

const QUERY = "?dryRun=All&fieldManager=keelson-explain-admission";

export class DryRuns {
  readonly #client: HttpsClient;
  readonly #options: ExplainOptions;
  /** By group-version, as discovery answers. */
  readonly #discovered = new Map<string, readonly FoundResource[]>();

  constructor(client: HttpsClient, options: ExplainOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** @throws {Error} the server does not know the kind, or does not explain */
  async explain(object: JsonObject, signal: AbortSignal): Promise<Explained> {
    const place = await this.#placeOf(object, signal);
    const { operation, sent } = await this.#intent(object, place, signal);
    const { resource, namespace, name } = place;
    const { user } = this.#options.as;
    const about = { operation, resource, namespace, name, ...(user !== undefined && { user }) };
    const answer = await this.#write(operation, place, sent, signal);
    return { ...about, ...explanationOf(answer) };
  }

  async #placeOf(object: JsonObject, signal: AbortSignal): Promise<WriteTarget> {
    const { apiVersion, kind } = object;
    const metadata = (object.metadata ?? {}) as { name?: string; namespace?: string };
    const groupVersion = parseGroupVersion(String(apiVersion ?? ""));
    if (groupVersion === undefined || typeof kind !== "string") {
      throw new Error("every object needs an apiVersion and a kind");
    }
    const root = groupVersion.group === "" ? "/api" : `/apis/${groupVersion.group}`;
    const base = `${root}/${groupVersion.version}`;
    const found = (await this.#resourcesOf(base, signal)).find(
      (one) => one.kind === kind && !one.name.includes("/"),
    );
    if (found === undefined) throw new Error(`the server has no kind ${kind} in ${apiVersion}`);
    const own = metadata.namespace ?? this.#options.namespace ?? "default";
    const namespace = found.namespaced ? own : "";
    const inside = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${base}${inside}/${found.name}`;
    return { path, resource: found.name, namespace, name: metadata.name ?? "" };
  }

  async #resourcesOf(path: string, signal: AbortSignal): Promise<readonly FoundResource[]> {
    const known = this.#discovered.get(path);
    if (known !== undefined) return known;
    const answer = await this.#client.request({ method: "GET", path }, signal);
    const { resources = [] } = (answer.status === 200 ? read(answer) : {}) as {
      readonly resources?: readonly FoundResource[];
    };
    this.#discovered.set(path, resources);
    return resources;
  }

  /** The operation: the one asked for, else an update if the object exists. An update is of the current object. */
  async #intent(object: JsonObject, { path, name }: WriteTarget, signal: AbortSignal) {
    const { operation } = this.#options;
    if (operation === "CREATE" || (operation === undefined && name === "")) {
      return { operation: "CREATE" as const, sent: object };
    }
    if (name === "") throw new Error(`${operation} needs the name of an object`);
    if (operation === "DELETE") return { operation, sent: undefined };
    const answer = await this.#client.request({ method: "GET", path: at(path, name) }, signal);
    if (answer.status === 404 && operation === undefined) {
      return { operation: "CREATE" as const, sent: object };
    }
    const metadata = (object.metadata ?? {}) as JsonObject;
    const current = read(answer) as { readonly metadata?: { readonly resourceVersion?: string } };
    const { resourceVersion } = { ...current.metadata, ...metadata };
    const versioned = resourceVersion === undefined ? {} : { resourceVersion };
    const sent = { ...object, metadata: { ...metadata, ...versioned } };
    return { operation: "UPDATE" as const, sent };
  }

  #write(
    operation: ExplainedOperation,
    { path, name }: WriteTarget,
    sent: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<IncomingResponse> {
    const [method, target] = {
      CREATE: ["POST", path] as const,
      UPDATE: ["PUT", at(path, name)] as const,
      DELETE: ["DELETE", at(path, name)] as const,
    }[operation];
    const { user, uid, groups } = this.#options.as;
    const headers = {
      "content-type": "application/json",
      "explain-admission": "json",
      ...(user !== undefined && { "impersonate-user": user }),
      ...(uid !== undefined && { "impersonate-uid": uid }),
      ...(groups.length > 0 && { "impersonate-group": groups }),
    };
    const body = sent === undefined ? {} : { body: stringifyJson(sent) };
    return this.#client.request({ method, path: `${target}${QUERY}`, headers, ...body }, signal);
  }
}

function at(path: string, name: string): string {
  return `${path}/${encodeURIComponent(name)}`;
}

function read({ status, body }: IncomingResponse): JsonObject {
  try {
    return parseJson(body) as JsonObject;
  } catch {
    throw new Error(`the server answered ${status} with something that is no JSON`);
  }
}

/** A refusal that comes before admission (nobody may write that) explains itself. @throws {Error} */
function explanationOf(answer: IncomingResponse): Explanation {
  const document = read(answer);
  if (document.kind === "AdmissionExplanation") return document as unknown as Explanation;
  if (answer.status >= 400 && document.kind === "Status") {
    return { rules: [], warnings: [], status: document as unknown as Explanation["status"] };
  }
  throw new Error(
    "the server did not explain: the configuration's user is not in system:masters, or it is not Keelson",
  );
}
