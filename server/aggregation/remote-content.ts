/**
 * RemoteContent: what namespaces hold in servers behind APIServices. The control loop that empties a namespace has it
 * deleted here, as whoever is given the name next would find it otherwise. What a server publishes says which
 * resources there are; one that cannot be asked holds the namespace, since nobody knows what it has.
 */

import { formatGroupVersion } from "../api/names.js";
import type { Naming } from "../api/naming.js";
import { firstOf } from "../api/shown-value.js";
import { userHeaders } from "../client/forwarded-headers.js";
import { AnswerTooLarge, parseAnswer, readAnswer } from "../client/read-answer.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import type { ResourceFact } from "../schema/model.js";
import { parseJson } from "../schema/parse-json.js";
import type { ApiServices, RemoteEntry } from "./api-services.js";
import type { RemoteDocuments } from "./remote-documents.js";
import type { RemoteServer, RemoteServers } from "./remote-server.js";

export interface RemoteContentParts {
  readonly services: Pick<ApiServices, "all">;
  readonly servers: Pick<RemoteServers, "of">;
  readonly documents: Pick<RemoteDocuments, "of" | "refresh">;
  readonly naming: Naming;
  readonly timeoutMs?: number;
}

/** What is left of a namespace after an attempt to delete it. */
export interface RemoteLeftovers {
  readonly count: number;
  /** "notes.example.com" to the number of remaining objects. */
  readonly byResource: ReadonlyMap<string, number>;
  /** Finalizer to the number of objects with it. */
  readonly byFinalizer: ReadonlyMap<string, number>;
  /** Why something could not be deleted. */
  readonly failures: readonly string[];
  /** By group-version: why nobody knows what its server has. */
  readonly undiscovered: ReadonlyMap<string, string>;
}

/** Of one resource of a namespace: a server that hangs, or is slow for each of thousands of objects, is asked again later. */
const TIMEOUT_MS = 30_000;
/** Objects of a list, or fewer where they are large; more are only counted. */
const PAGE = 500;
const ANSWER_LIMITS = { bytes: 16 * 1024 * 1024, values: 250_000 };
const SHOWN_CHARS_MAX = 1_000;

export class RemoteContent {
  readonly #parts: RemoteContentParts;
  readonly #user: UserInfo;

  constructor(parts: RemoteContentParts) {
    this.#parts = parts;
    const { systemNamespace } = parts.naming;
    this.#user = createUser({
      name: `system:serviceaccount:${systemNamespace}:namespace-controller`,
      groups: [
        "system:serviceaccounts",
        `system:serviceaccounts:${systemNamespace}`,
        "system:authenticated",
      ],
    });
  }

  /** Deletes what other servers keep of the namespace. Rejects only if the signal aborts. */
  async sweep(namespace: string, signal: AbortSignal): Promise<RemoteLeftovers> {
    const left = {
      count: 0,
      byResource: new Map<string, number>(),
      byFinalizer: new Map<string, number>(),
      failures: [] as string[],
      undiscovered: new Map<string, string>(),
    };
    const seen = new Set<string>();
    const sweeping = this.#parts.services.all.map(async (entry) => {
      const facts = await this.#discover(entry);
      if (facts === undefined) {
        const groupVersion = formatGroupVersion(entry.service);
        left.undiscovered.set(groupVersion, `stale GroupVersion discovery: ${groupVersion}`);
        return;
      }
      for (const fact of facts.filter(isDeletable)) {
        // Another version of it shows the same objects.
        const id = `${fact.resource}.${fact.group}`;
        if (seen.has(id)) continue;
        seen.add(id);
        const until = AbortSignal.any([
          signal,
          AbortSignal.timeout(this.#parts.timeoutMs ?? TIMEOUT_MS),
        ]);
        try {
          const server = this.#parts.servers.of(entry.service);
          const items = await this.#empty(server, fact, namespace, until);
          if (items.count === 0) continue;
          left.count += items.count;
          left.byResource.set(id, items.count);
          for (const finalizer of items.finalizers) {
            left.byFinalizer.set(finalizer, (left.byFinalizer.get(finalizer) ?? 0) + 1);
          }
        } catch (error) {
          signal.throwIfAborted();
          left.failures.push(`${id}: ${firstOf((error as Error).message, SHOWN_CHARS_MAX)}`);
          // Its other resources would hang as long.
          if (until.aborted) return;
        }
      }
    });
    await Promise.all(sweeping);
    return left;
  }

  /** What the server has today; undefined = it does not say. */
  async #discover({
    service,
    availability,
  }: RemoteEntry): Promise<readonly ResourceFact[] | undefined> {
    const { documents, servers } = this.#parts;
    if (availability?.isAvailable === false) return undefined;
    try {
      await documents.refresh(servers.of(service));
    } catch {
      return undefined;
    }
    return documents.of(service)?.served.facts;
  }

  /** Deletes all, and says what is left. @throws {Error} */
  async #empty(server: RemoteServer, fact: ResourceFact, namespace: string, signal: AbortSignal) {
    const { group, version, resource, verbs } = fact;
    const path = `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/${resource}`;
    const has = (verb: string) => verbs.includes(verb);
    const isDone =
      has("deletecollection") && (await this.#delete(server, path, signal)) === "deleted";
    if (!has("list")) return NOTHING;
    if (!isDone) {
      for (const { metadata } of (await this.#list(server, path, signal)).items) {
        await this.#delete(server, `${path}/${encodeURIComponent(metadata?.name ?? "")}`, signal);
      }
    }
    const { items, more } = await this.#list(server, path, signal);
    const finalizers = items.flatMap(({ metadata }) => metadata?.finalizers ?? []);
    return { count: items.length + more, finalizers };
  }

  /** @throws {Error} the server does not do it */
  async #delete(server: RemoteServer, path: string, signal: AbortSignal) {
    const options = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" };
    const { status, text } = await this.#ask(server, "DELETE", path, options, signal);
    // Some publish verbs that they do not have.
    if (status === 404 || status === 405) return "unsupported";
    if (status < 200 || status > 299) throw new Error(reasonOf(status, text));
    return "deleted";
  }

  async #list(server: RemoteServer, path: string, signal: AbortSignal, limit = PAGE): ListAnswer {
    const asked = `${path}?limit=${limit}`;
    let answer: Answer;
    try {
      answer = await this.#ask(server, "GET", asked, undefined, signal);
    } catch (error) {
      // Not each server leaves out what an object holds besides its metadata.
      if (!(error instanceof AnswerTooLarge) || limit === 1) throw error;
      return this.#list(server, path, signal, Math.ceil(limit / 4));
    }
    const { status, text } = answer;
    if (status === 404 || status === 405) return { items: [], more: 0 };
    if (status !== 200) throw new Error(reasonOf(status, text));
    const { items, metadata } = (await parseAnswer(text)) as MetadataList;
    const more = metadata?.remainingItemCount ?? (metadata?.continue ? 1 : 0);
    return { items: items ?? [], more };
  }

  async #ask(
    server: RemoteServer,
    method: "GET" | "DELETE",
    path: string,
    sent: object | undefined,
    signal: AbortSignal,
  ): Promise<Answer> {
    const metadataOnly = `application/json;as=PartialObjectMetadataList;g=meta.${this.#parts.naming.groupDomain};v=v1`;
    const accept = method === "GET" ? `${metadataOnly},application/json` : "application/json";
    const headers = ["accept", accept, ...userHeaders(this.#user)];
    if (sent !== undefined) headers.push("content-type", "application/json");
    const { statusCode, body } = await server.pool().request({
      method,
      path,
      headers,
      signal,
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
    });
    return {
      status: statusCode,
      text: (await readAnswer(body, ANSWER_LIMITS, `the answer of ${path}`)).toString("utf8"),
    };
  }
}

const NOTHING = { count: 0, finalizers: [] as string[] };

interface Answer {
  readonly status: number;
  readonly text: string;
}

type ListAnswer = Promise<{ items: NonNullable<MetadataList["items"]>; more: number }>;

interface MetadataList {
  readonly metadata?: { readonly continue?: string; readonly remainingItemCount?: number };
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string; readonly finalizers?: readonly string[] };
  }[];
}

function isDeletable({ namespaced, subresource, verbs }: ResourceFact): boolean {
  return namespaced && subresource === "" && verbs.includes("delete");
}

/** The words of a Status, or the status alone. */
function reasonOf(status: number, text: string): string {
  try {
    const { message } = parseJson(text) as { message?: unknown };
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // Not every answer is a Status.
  }
  return `the server answered with status ${status}`;
}
