/**
 * RemoteDocuments: what the servers behind APIServices publish of themselves (resources and OpenAPI),
 * kept by ETag and asked for again at an interval and when a service changes. A dead service delays
 * nothing: what it last said stays, marked as stale.
 */
import { formatGroupVersion } from "../api/names.js";
import type { ServedGroupVersion } from "../endpoints/discovery/served.js";
import { userHeaders } from "../proxy/forwarded-headers.js";
import { createUser, MASTERS_GROUP } from "../request/user-info.js";
import type { ResourceFact } from "../schema/model.js";
import type { RemoteService } from "./api-services.js";
import type { RemoteServer } from "./remote-server.js";

/** What one service says of one group-version. */
export interface RemotePublication {
  readonly served: ServedGroupVersion & { readonly freshness: "Current" | "Stale" };
  /** Of its part of OpenAPI v3; undefined = it has none. */
  readonly openApiHash: string | undefined;
}

/** Upstream's name for itself when it asks. */
const ASKER = createUser({ name: "system:kube-aggregator", groups: [MASTERS_GROUP] });
const TIMEOUT_MS = 5_000;
/** Larger documents are not looked at. */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

interface Known {
  readonly etag: string;
  readonly openApiEtag: string;
  readonly publication: RemotePublication;
}

/** An answer as it came; 304 where the tag that was sent still holds. */
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

  /** What a service said is kept when it is configured anew and is still the same server's. */
  keepOnly(services: ReadonlySet<RemoteService>): void {
    for (const [service, known] of this.#known) {
      if (services.has(service)) continue;
      this.#known.delete(service);
      const next = [...services].find((one) => isSameServer(one, service));
      if (next !== undefined && !this.#known.has(next)) this.#known.set(next, known);
    }
  }

  /**
   * Asks a service, and keeps what it says.
   * @returns whether something is to be published now that was not before
   * @throws {Error} when it does not answer as it should; what is known is stale from now on
   */
  async refresh(remote: RemoteServer): Promise<boolean> {
    const { service } = remote;
    const known = this.#known.get(service);
    const path = `/apis/${formatGroupVersion(service)}`;
    try {
      const answer = await this.fetch(remote, path, known?.etag ?? "");
      const isKnown = answer.status === 304 && known !== undefined;
      if (!isKnown && answer.status !== 200) throw new Error(`${path}: status ${answer.status}`);
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

  /** The hash of its part of version 3; a change of that changes no list of resources. */
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

  /** @throws {Error} when it does not answer in time, or with too much */
  async fetch(remote: RemoteServer, path: string, etag: string): Promise<Fetched> {
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
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of body) {
        bytes += (chunk as Buffer).length;
        if (bytes > DOCUMENT_BYTES_MAX) throw new Error(`${path}: the answer is too large`);
        chunks.push(chunk as Buffer);
      }
      const tag = received.etag;
      return {
        status: statusCode,
        etag: typeof tag === "string" ? tag : "",
        body: Buffer.concat(chunks).toString("utf8"),
      };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Whether both are one group-version behind one service; what else is said of it may differ. */
function isSameServer(a: RemoteService, b: RemoteService): boolean {
  const isSameVersion = a.group === b.group && a.version === b.version;
  return isSameVersion && a.namespace === b.namespace && a.service === b.service;
}

/** What is known of its OpenAPI. */
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

/** @throws {Error} for a document that says something else */
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
