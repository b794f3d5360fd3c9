/**
 * Discovery: answers "what does this server serve?" at `/`, `/api`, `/apis`, `/apis/<group>`,
 * `/api/<version>`, `/apis/<group>/<version>` and `/version`, in the first form and in the aggregated
 * form, whichever the Accept header prefers; the first form also in YAML and Protobuf.
 *
 * Each document is built on first use and kept (at most two aggregated forms and one per encoding for
 * every path, see DOCUMENTS below). The object is immutable: when the set of served types changes,
 * wiring makes a new one.
 */
import type { JsonObject } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { notAcceptable } from "../../api/status.js";
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
import { groupServedResources, type ServedGroup, type ServedResources } from "./served.js";
import { type BuildInfo, toVersionInfo } from "./version.js";

const JSON_TYPE = "application/json";

export interface DiscoveryOptions extends ServedResources {
  readonly build: BuildInfo;
  /** "host:port" that `/api` tells to clients; read at first use, when the port is known. */
  readonly serverAddress: () => string;
  /** Paths beside those of discovery for the list at `/`, such as "/healthz" and "/metrics". */
  readonly otherPaths: readonly string[];
}

export interface Discovery {
  /**
   * The answer to a GET of `path` (without the query), or undefined when it is none of discovery's
   * paths. @throws {StatusError} 406 when nothing that the client accepts can be made
   */
  handle(path: string, headers: DocumentHeaders): Promise<DocumentResponse | undefined>;
}

/** What one path can answer. */
interface Page {
  readonly legacy: () => JsonObject;
  /** Only `/api` and `/apis`. */
  readonly aggregated?: (version: AggregatedVersion) => JsonObject;
  /** `/` and `/version` are JSON whatever is asked, as upstream. */
  readonly isPlain?: boolean;
}

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const pages = createPages(options);
  // Of the first form; the aggregated form is JSON only.
  const encoders = createObjectEncoders(options);
  // DOCUMENTS: keyed by path and content type, so bounded by pages x (forms + encoders).
  const documents = new Map<string, Promise<Document>>();

  function documentOf(key: string, contentType: string, encode: () => Uint8Array) {
    const id = `${key} ${contentType}`;
    let document = documents.get(id);
    if (document === undefined) {
      document = finishDocument(contentType, Buffer.from(encode()));
      documents.set(id, document);
    }
    return document;
  }

  function choose(key: string, page: Page, ranges: readonly MediaRange[]) {
    for (const range of ranges) {
      const aggregated = aggregatedVersionOf(range, options);
      if (aggregated !== undefined && page.aggregated !== undefined) {
        const make = page.aggregated;
        const contentType = aggregatedContentType(options.naming, aggregated);
        return documentOf(key, contentType, () => toJsonBytes(make(aggregated)));
      }
      // A range that asks for a kind is not satisfied by the first form (client-go then sends a
      // plain range as well); parameters such as charset do no harm.
      if (range.parameters.has("as") || range.parameters.has("g")) continue;
      if (covers(range, "application", "json")) {
        return documentOf(key, JSON_TYPE, () => toJsonBytes(page.legacy()));
      }
      for (const encoder of encoders) {
        const [type = "", subtype = ""] = encoder.mediaType.split("/");
        if (!covers(range, type, subtype)) continue;
        return documentOf(key, encoder.mediaType, () => encoder.encode(page.legacy()));
      }
    }
    throw notAcceptable([JSON_TYPE, ...encoders.map(({ mediaType }) => mediaType)]);
  }

  return {
    async handle(path, headers) {
      const key = normalise(path);
      const page = pages.get(key);
      if (page === undefined) return undefined;
      const document = page.isPlain
        ? documentOf(key, JSON_TYPE, () => Buffer.from(JSON.stringify(page.legacy(), null, 2)))
        : choose(key, page, parseAccept(headers.accept));
      return respond(await document, headers);
    },
  };
}

function createPages(options: DiscoveryOptions): ReadonlyMap<string, Page> {
  const { naming } = options;
  const groups = groupServedResources(options);
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
    if (group.name !== "") pages.set(`/apis/${group.name}`, { legacy: () => toApiGroup(group) });
    for (const version of group.versions) {
      pages.set(groupVersionPath(group, version.version), {
        legacy: () => toApiResourceList(version),
      });
    }
  }
  pages.set("/version", {
    legacy: () => toVersionInfo(options.build, process),
    isPlain: true,
  });
  const paths = [...pages.keys(), ...options.otherPaths].sort();
  pages.set("/", { legacy: () => ({ paths }), isPlain: true });
  return pages;
}

/** "/api/v1" or "/apis/apps/v1": under which the resources of a group-version live. */
export function groupVersionPath({ name }: Pick<ServedGroup, "name">, version: string): string {
  const base = name === "" ? "/api" : "/apis";
  return `${base}/${formatGroupVersion({ group: name, version })}`;
}

/** The aggregated form that a range names exactly; `json` without parameters is not one. */
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
