/**
 * RemoteDocuments: the documents that servers behind APIServices publish (resources and OpenAPI), cached
 * by ETag and fetched again at an interval and when a service changes. A dead service delays nothing: its
 * last documents stay, marked as stale.
 */
import { isRecord } from "../../storage/base/is-record.js";
import { formatGroupVersion } from "../api/names.js";
import { userHeaders } from "../client/forwarded-headers.js";
import { ANSWER_VALUES_MAX, readAnswer } from "../client/read-answer.js";
import type { ServedGroupVersion } from "../endpoints/discovery/served.js";
import { createUser, MASTERS_GROUP } from "../request/user-info.js";
import type { ResourceFact } from "../schema/model.js";
import type { RemoteService } from "./api-services.js";
import type { RemoteServer } from "./remote-server.js";

/** The published documents of one service and group-version. */
export interface RemotePublication {
  readonly served: ServedGroupVersion & { readonly freshness: "Current" | "Stale" };
  /** Hash of its part of OpenAPI v3; undefined = none. */
  readonly openApiHash: string | undefined;
}

/** kube-apiserver's user for these requests. */
const ASKER = createUser({ name: "system:kube-aggregator", groups: [MASTERS_GROUP] });
const TIMEOUT_MS = 5_000;
export const OPENAPI_V2 = "/openapi/v2";
/** Larger documents are ignored. OpenAPI v2 is of all that the server has: that of a Keelson has 130,000 values. */
const OPENAPI_LIMITS = { bytes: 16 * 1024 * 1024, values: 1_000_000 };
/** What one group-version has, and which documents there are. */
const SHORT_LIMITS = { bytes: 1024 * 1024, values: ANSWER_VALUES_MAX };

interface Known {
  readonly etag: string;
  readonly openApiEtag: string;
  readonly publication: RemotePublication;
}

/** A fetched answer; 304 if the sent ETag is still valid. */
export interface Fetched {
  readonly status: number;
  /** "" = it has none. */
  readonly etag: string;
  readonly body: string;
}

export class RemoteDocuments {
  readonly #known = new Map<RemoteService, Known>();

  of(service: RemoteService): RemotePublication | undefined {
    return this.#known.get(service)?.publication;
  }

  /** Documents survive a changed configuration as long as it is for the same server. */
  keepOnly(services: ReadonlySet<RemoteService>): void {
    for (const [service, known] of this.#known) {
      if (services.has(service)) continue;
      this.#known.delete(service);
      const next = [...services].find((one) => isSameServer(one, service));
      if (next !== undefined && !this.#known.has(next)) this.#known.set(next, known);
    }
  }

  /**
   * Fetches a service's documents and caches them.
   * @returns whether the published state changed
   * @throws {Error} if the answer is missing or invalid; the cached documents are then stale
   */
  async refresh(remote: RemoteServer): Promise<boolean> {
    const { service } = remote;
    const known = this.#known.get(service);
    const path = `/apis/${formatGroupVersion(service)}`;
    try {
      const answer = await this.fetch(remote, path, known?.etag ?? "");
      const isKnown = answer.status === 304 && known !== undefined;
      if (!isKnown && answer.status !== 200)
        throw new Error(`bad status from ${remote.url}${path}: ${answer.status}`);
      const served = isKnown
        ? known.publication.served
        : toServed(service, JSON.parse(answer.body));
      const openApi = await this.#openApi(remote, known).catch(() => known ?? NO_OPEN_API);
      const publication = {
        served: { ...served, freshness: "Current" as const },
        openApiHash: openApi.publication.openApiHash,
      };
      const { etag } = isKnown ? known : answer;
      const isSame =
        known !== undefined && JSON.stringify(known.publication) === JSON.stringify(publication);
      const { openApiEtag } = openApi;
      const kept = isSame ? known.publication : publication;
      this.#known.set(service, { etag, openApiEtag, publication: kept });
      return !isSame;
    } catch (error) {
      this.#mark(service, "Stale");
      throw error;
    }
  }

  #mark(service: RemoteService, freshness: "Current" | "Stale"): boolean {
    const known = this.#known.get(service);
    if (known === undefined || known.publication.served.freshness === freshness) return false;
    const served = { ...known.publication.served, freshness };
    this.#known.set(service, { ...known, publication: { ...known.publication, served } });
    return true;
  }

  /** The hash of its part of OpenAPI v3; a change of it does not change the resource list. */
  async #openApi(remote: RemoteServer, known: Known | undefined): Promise<KnownOpenApi> {
    const answer = await this.fetch(remote, "/openapi/v3", known?.openApiEtag ?? "");
    if (answer.status === 304 && known !== undefined) return known;
    if (answer.status !== 200) return NO_OPEN_API;
    const key = `apis/${formatGroupVersion(remote.service)}`;
    const { paths } = JSON.parse(answer.body) as {
      paths?: Record<string, { serverRelativeURL?: string }>;
    };
    const url = String(paths?.[key]?.serverRelativeURL ?? "");
    const openApiHash = /[?&]hash=([^&]*)/.exec(url)?.[1];
    return { openApiEtag: answer.etag, publication: { openApiHash } };
  }

  /** @throws {Error} if there is no timely answer, or it is too large */
  async fetch(remote: RemoteServer, path: string, etag: string): Promise<Fetched> {
    const limits = path === OPENAPI_V2 ? OPENAPI_LIMITS : SHORT_LIMITS;
    const headers = ["accept", "application/json", ...userHeaders(ASKER)];
    if (etag !== "") headers.push("if-none-match", etag);
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(new Error(`${path}: no answer`)), TIMEOUT_MS);
    try {
      const {
        statusCode,
        headers: received,
        body,
      } = await remote.pool().request({ method: "GET", path, headers, signal: ended.signal });
      const tag = received.etag;
      const subject = `the answer of ${remote.url}${path}`;
      return {
        status: statusCode,
        etag: typeof tag === "string" ? tag : "",
        body: (await readAnswer(body, limits, subject)).toString("utf8"),
      };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Whether both are the same group-version behind the same service; other fields may differ. */
function isSameServer(a: RemoteService, b: RemoteService): boolean {
  const isSameVersion = a.group === b.group && a.version === b.version;
  return isSameVersion && a.namespace === b.namespace && a.service === b.service;
}

/** The cached OpenAPI state. */
type KnownOpenApi = Pick<Known, "openApiEtag"> & {
  readonly publication: Pick<RemotePublication, "openApiHash">;
};

const NO_OPEN_API: KnownOpenApi = { openApiEtag: "", publication: { openApiHash: undefined } };

/** Its members are what they are by their types, or the document of all groups could not be read by anybody. */
class Members {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #where: string;

  /** @throws {Error} it is no object */
  constructor(value: unknown, where: string) {
    if (!isRecord(value)) throw new Error(`${where}: expected an object`);
    this.#members = value;
    this.#where = where;
  }

  text(name: string): string {
    return this.#of(name, "", (value) => typeof value === "string");
  }

  flag(name: string): boolean {
    return this.#of(name, false, (value) => typeof value === "boolean");
  }

  list(name: string): readonly unknown[] {
    return this.#of(name, [] as readonly unknown[], Array.isArray);
  }

  texts(name: string): string[] {
    const isText = (value: unknown) => typeof value === "string";
    return this.#of(name, [] as string[], (value) => Array.isArray(value) && value.every(isText));
  }

  /** @throws {Error} it is of another type */
  #of<Value>(name: string, absent: Value, isRight: (value: unknown) => boolean): Value {
    const value = this.#members[name] ?? absent;
    if (!isRight(value)) throw new Error(`${this.#where}: ${name} is of a wrong type`);
    return value as Value;
  }
}

/** @throws {Error} if the document is for something else */
function toServed({ group, version }: RemoteService, document: unknown): ServedGroupVersion {
  const groupVersion = formatGroupVersion({ group, version });
  const where = `/apis/${groupVersion}`;
  const list = new Members(document, where);
  if (list.text("kind") !== "APIResourceList" || list.text("groupVersion") !== groupVersion) {
    throw new Error(`${where}: expected an APIResourceList of ${groupVersion}`);
  }
  const facts = list.list("resources").map((item): ResourceFact => {
    const one = new Members(item, `${where}: a resource`);
    const [resource = "", subresource = ""] = one.text("name").split("/");
    const [kindGroup, kindVersion] = [one.text("group"), one.text("version")];
    return {
      group,
      version,
      resource,
      subresource,
      singular: one.text("singularName"),
      kind: one.text("kind"),
      ...(kindVersion !== "" && {
        kindGroupVersion: { group: kindGroup || group, version: kindVersion },
      }),
      namespaced: one.flag("namespaced"),
      verbs: one.texts("verbs"),
      shortNames: one.texts("shortNames"),
      categories: one.texts("categories"),
      onByDefault: true,
      storageVersionHash: one.text("storageVersionHash"),
    };
  });
  return { group, version, resources: [], facts };
}
