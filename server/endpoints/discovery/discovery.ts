/**
 * Discovery: answers "what does this server serve?" at `/`, `/api`, `/apis`, `/apis/<group>`,
 * `/api/<version>`, `/apis/<group>/<version>` and `/version`, in the first form and in the aggregated
 * form, whichever the Accept header prefers; the first form also in YAML and Protobuf.
 *
 * Documents describe the catalog at the time of the request. Each is built on first use and cached with
 * its subject: a group, a group-version or the catalog.
 */
import type { JsonObject } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { notAcceptable } from "../../api/status.js";
import { JSON_TYPE } from "../../codec/media-types.js";
import type { ProtobufCodecs } from "../../codec/protobuf.js";
import { remembered } from "../../kinds/remembered.js";
import type { EffectiveReleases } from "../../schema/lifecycle.js";
import { covers, type MediaRange, parseAccept } from "./accept.js";
import {
  AGGREGATED_KIND,
  AGGREGATED_VERSIONS,
  type AggregatedVersion,
  aggregatedContentType,
  aggregatedGroup,
  toApiGroupDiscoveryList,
} from "./aggregated.js";
import {
  type Document,
  type DocumentHeaders,
  type DocumentResponse,
  finishDocument,
  respond,
} from "./document.js";
import { toApiGroup, toApiGroupList, toApiResourceList, toApiVersions } from "./legacy.js";
import { createObjectEncoders } from "./object-encoders.js";
import type { ServedGroup, ServedGroups, ServedGroupVersion, ServedResources } from "./served.js";
import { type BuildInfo, toVersionInfo } from "./version.js";

export interface DiscoveryOptions extends ServedResources {
  readonly build: BuildInfo;
  /** Of the built-in kinds; default: its own. */
  readonly protobuf?: ProtobufCodecs;
  /** The release in `/version` that this server behaves as. */
  readonly releases: EffectiveReleases;
  /** "host:port" that `/api` publishes; read on first use, when the port is known. */
  readonly serverAddress: () => string;
  /** Further paths for the list at `/`, for example "/healthz" and "/metrics". */
  readonly otherPaths: readonly string[];
}

export interface Discovery {
  /**
   * The answer to a GET of `path` (without the query); undefined if it is not a discovery path.
   * @throws {StatusError} 406 if there is no acceptable representation
   */
  handle(path: string, headers: DocumentHeaders): Promise<DocumentResponse | undefined>;
}

/** The documents of one path. */
interface Page {
  readonly legacy: () => JsonObject;
  /** Only `/api` and `/apis`. */
  readonly aggregated?: (version: AggregatedVersion) => JsonObject;
  /** `/` and `/version` are always JSON, as in kube-apiserver. */
  readonly isPlain?: boolean;
}

/** The documents of one page, by content type: at most two aggregated forms and one per encoding. */
type Documents = Map<string, Promise<Document>>;

export function createDiscovery(options: DiscoveryOptions): Discovery {
  // For the first form only; the aggregated form is JSON only.
  const encoders = createObjectEncoders(options);
  const pagesOf = createPageSource(options);
  const kept = new WeakMap<Page, Documents>();

  function documentOf(page: Page, contentType: string, encode: () => Uint8Array) {
    let documents = kept.get(page);
    if (documents === undefined) {
      documents = new Map();
      kept.set(page, documents);
    }
    let document = documents.get(contentType);
    if (document === undefined) {
      // People get it indented.
      const plainBytesMax = Number.POSITIVE_INFINITY;
      document = finishDocument(contentType, [Buffer.from(encode())], { plainBytesMax });
      documents.set(contentType, document);
    }
    return document;
  }

  function choose(page: Page, ranges: readonly MediaRange[]) {
    for (const range of ranges) {
      const aggregated = aggregatedVersionOf(range, options);
      if (aggregated !== undefined && page.aggregated !== undefined) {
        const make = page.aggregated;
        const contentType = aggregatedContentType(options.naming, aggregated);
        return documentOf(page, contentType, () => toJsonBytes(make(aggregated)));
      }
      // A range that asks for a kind is not satisfied by the first form (client-go then sends a plain range too);
      // parameters such as charset are ignored.
      if (range.parameters.has("as") || range.parameters.has("g")) continue;
      if (covers(range, "application", "json")) {
        return documentOf(page, JSON_TYPE, () => toJsonBytes(page.legacy()));
      }
      for (const encoder of encoders) {
        const [type = "", subtype = ""] = encoder.mediaType.split("/");
        if (!covers(range, type, subtype)) continue;
        return documentOf(page, encoder.mediaType, () => encoder.encode(page.legacy()));
      }
    }
    throw notAcceptable([JSON_TYPE, ...encoders.map(({ mediaType }) => mediaType)]);
  }

  return {
    async handle(path, headers) {
      const page = pagesOf(options.catalog.current).get(normalise(path));
      if (page === undefined) return undefined;
      const document = page.isPlain
        ? documentOf(page, JSON_TYPE, () => Buffer.from(JSON.stringify(page.legacy(), null, 2)))
        : choose(page, parseAccept(headers.accept));
      return respond(await document, headers);
    },
  };
}

/** The pages of a catalog by path. Unchanged groups share their pages with the next catalog. */
function createPageSource(
  options: DiscoveryOptions,
): (served: ServedGroups) => ReadonlyMap<string, Page> {
  const { naming } = options;
  const ofCatalog = new WeakMap<ServedGroups, ReadonlyMap<string, Page>>();
  const ofGroup = new WeakMap<ServedGroup, Page>();
  const ofGroupVersion = new WeakMap<ServedGroupVersion, Page>();
  const version: Page = {
    legacy: () => toVersionInfo(options.build, options.releases, process),
    isPlain: true,
  };

  function create({ groups }: ServedGroups): ReadonlyMap<string, Page> {
    const core = groups.find(({ name }) => name === "");
    const named = groups.filter(({ name }) => name !== "");
    const pages = new Map<string, Page>();
    pages.set("/api", {
      legacy: () => toApiVersions(core, options.serverAddress()),
      aggregated: (version) =>
        toApiGroupDiscoveryList(naming, version, core === undefined ? [] : [core]),
    });
    pages.set("/apis", {
      legacy: () => toApiGroupList(named),
      aggregated: (version) => toApiGroupDiscoveryList(naming, version, named),
    });
    for (const group of groups) {
      if (group.name !== "") {
        const page = remembered(ofGroup, group, () => ({ legacy: () => toApiGroup(group) }));
        pages.set(`/apis/${group.name}`, page);
      }
      for (const groupVersion of group.versions) {
        const page = remembered(ofGroupVersion, groupVersion, () => ({
          legacy: () => toApiResourceList(groupVersion),
        }));
        pages.set(groupVersionPath(group, groupVersion.version), page);
      }
    }
    pages.set("/version", version);
    const paths = [...pages.keys(), ...options.otherPaths].sort();
    pages.set("/", { legacy: () => ({ paths }), isPlain: true });
    return pages;
  }

  return (served) => remembered(ofCatalog, served, () => create(served));
}

/** "/api/v1" or "/apis/apps/v1": the parent path of the group-version's resources. */
export function groupVersionPath({ name }: Pick<ServedGroup, "name">, version: string): string {
  const base = name === "" ? "/api" : "/apis";
  return `${base}/${formatGroupVersion({ group: name, version })}`;
}

/** The aggregated form that a range names exactly; plain `json` does not. */
function aggregatedVersionOf(
  range: MediaRange,
  { naming }: ServedResources,
): AggregatedVersion | undefined {
  if (range.type !== "application" || range.subtype !== "json") return undefined;
  if (range.parameters.get("as") !== AGGREGATED_KIND) return undefined;
  if (range.parameters.get("g") !== aggregatedGroup(naming)) return undefined;
  return AGGREGATED_VERSIONS.find((version) => version === range.parameters.get("v"));
}

function normalise(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** One newline after the object, as every JSON answer has. */
function toJsonBytes(object: JsonObject): Buffer {
  return Buffer.from(`${JSON.stringify(object)}\n`);
}
