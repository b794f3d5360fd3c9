/**
 * RemoteDocuments: the documents that servers behind APIServices publish (resources and OpenAPI), cached
 * by ETag and fetched again at an interval and when a service changes. A dead service delays nothing: its
 * last documents stay, marked as stale.
 */
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

/** Upstream's user for these requests. */
const ASKER = createUser({ name: "system:kube-aggregator", groups: [MASTERS_GROUP] });
const TIMEOUT_MS = 5_000;
export const OPENAPI_V2 = "/openapi/v2";
/** Larger documents are ignored. OpenAPI v2 is of all that the server has: that of a Keelson has 130,000 values. */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;
const OPENAPI_VALUES_MAX = 1_000_000;

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
        : toServed(service, JSON.parse(answer.body) as ResourceList);
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
    const openApiHash = /[?&]hash=([^&]*)/.exec(paths?.[key]?.serverRelativeURL ?? "")?.[1];
    return { openApiEtag: answer.etag, publication: { openApiHash } };
  }

  /** @throws {Error} if there is no timely answer, or it is too large */
  async fetch(remote: RemoteServer, path: string, etag: string): Promise<Fetched> {
    const values = path === OPENAPI_V2 ? OPENAPI_VALUES_MAX : ANSWER_VALUES_MAX;
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
        body: (await readAnswer(body, { bytes: DOCUMENT_BYTES_MAX, values }, subject)).toString(
          "utf8",
        ),
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

interface ResourceList {
  readonly kind?: string;
  readonly groupVersion?: string;
  readonly resources?: readonly {
    readonly name?: string;
    readonly singularName?: string;
    readonly namespaced?: boolean;
    readonly kind?: string;
    readonly group?: string;
    readonly version?: string;
    readonly verbs?: readonly string[];
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
    readonly storageVersionHash?: string;
  }[];
}

/** @throws {Error} if the document is for something else */
function toServed({ group, version }: RemoteService, list: ResourceList): ServedGroupVersion {
  const groupVersion = formatGroupVersion({ group, version });
  if (list.kind !== "APIResourceList" || list.groupVersion !== groupVersion) {
    throw new Error(`/apis/${groupVersion}: expected an APIResourceList of ${groupVersion}`);
  }
  const facts = (list.resources ?? []).map((one): ResourceFact => {
    const [resource = "", subresource = ""] = (one.name ?? "").split("/");
    return {
      group,
      version,
      resource,
      subresource,
      singular: one.singularName ?? "",
      kind: one.kind ?? "",
      ...(one.version !== undefined && {
        kindGroupVersion: { group: one.group ?? group, version: one.version },
      }),
      namespaced: one.namespaced === true,
      verbs: [...(one.verbs ?? [])],
      shortNames: [...(one.shortNames ?? [])],
      categories: [...(one.categories ?? [])],
      onByDefault: true,
      storageVersionHash: one.storageVersionHash ?? "",
    };
  });
  return { group, version, resources: [], facts };
}
