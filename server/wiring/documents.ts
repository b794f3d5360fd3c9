/** Wiring of the documents about the API by path: discovery, version and OpenAPI. */
import { systemClock } from "../../storage/base/clock.js";
import { isOverWithin } from "../../storage/base/is-over-within.js";
import type { FreshnessBarrier } from "../../storage/cache/freshness.js";
import { routeNotFound } from "../api/status.js";
import type { ProtobufCodecs } from "../codec/protobuf.js";
import type { Config } from "../config/config.js";
import { createDiscovery } from "../endpoints/discovery/discovery.js";
import { type DocumentResponse, documentHeaders } from "../endpoints/discovery/document.js";
import { type BuildInfo, formatApiVersion, toVersionInfo } from "../endpoints/discovery/version.js";
import { createOpenApi, type SharedDocuments } from "../endpoints/openapi/openapi.js";
import { isForPeople } from "../endpoints/representations/pretty.js";
import type { Health } from "../http/health.js";
import type { DocumentHandler } from "../http/routes.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import { HEALTH_RESULTS_PATH } from "../metrics/health-results.js";
import type { Facts } from "../schema/model.js";
import type { Aggregation } from "./aggregation.js";

export interface DocumentParts {
  readonly config: Config;
  readonly build: BuildInfo;
  readonly facts: Facts;
  readonly protobuf: ProtobufCodecs;
  /** What all APIs of this process have alike. */
  readonly openApiShared: SharedDocuments;
  readonly catalog: CatalogSource;
  readonly freshness: Pick<FreshnessBarrier, "fresh">;
  readonly health: Health;
  readonly address: () => string;
  /** Local and remote kinds, and other servers' parts of OpenAPI. */
  readonly aggregation: Pick<Aggregation, "groups" | "openApiParts" | "openApiSpecs">;
}

export function createDocuments(parts: DocumentParts): Record<string, DocumentHandler> {
  const { config, build, facts, catalog, freshness, health, address, aggregation } = parts;
  const served = {
    naming: config.naming,
    model: facts.model,
    catalog,
  };
  const discovery = createDiscovery({
    ...served,
    protobuf: parts.protobuf,
    catalog: aggregation.groups,
    build,
    releases: config.releases,
    serverAddress: address,
    otherPaths: [
      "/healthz",
      "/livez",
      "/metrics",
      HEALTH_RESULTS_PATH,
      "/openapi/v2",
      "/openapi/v3",
      "/readyz",
      ...health.names("readyz").map((name) => `/readyz/${name}`),
    ],
  });
  const openApi = createOpenApi({
    ...served,
    shared: parts.openApiShared,
    remoteParts: aggregation.openApiParts,
    remoteSpecs: aggregation.openApiSpecs,
    builtIn: catalog.current.groups.flatMap(({ versions }) => versions),
    title: "Keelson",
    apiVersion: formatApiVersion(build),
    objectMediaTypes: ["application/json", "application/yaml", config.naming.protobufMediaType],
    defaults: facts.defaults,
    versionMembers: Object.keys(toVersionInfo(build, config.releases, process)),
  });
  const discover: DocumentHandler = async (path, headers, query) => {
    const isAsked = isForPeople(query, headers["user-agent"]);
    if (path !== "/version") await whenFresh(freshness);
    return found(await discovery.handle(path, documentHeaders(headers, isAsked)));
  };
  const describe: DocumentHandler = async (path, headers, query) => {
    await whenFresh(freshness);
    return found(await openApi.handle(path, documentHeaders(headers), query.get("hash")));
  };
  return {
    "/": discover,
    "/version": discover,
    "/api": discover,
    "/api/*": discover,
    "/apis": discover,
    "/apis/*": discover,
    "/openapi/v2": describe,
    "/openapi/v3": describe,
    "/openapi/v3/*": describe,
  };
}

/** How long an unresponsive store may delay documents that do not need it. */
const FRESH_WAIT_MS = 500;

/**
 * Documents contain the kinds acknowledged before the request, on whichever replica. An unresponsive
 * store only delays the answer.
 */
async function whenFresh(freshness: Pick<FreshnessBarrier, "fresh">): Promise<void> {
  // Readiness reports an unreachable store.
  await isOverWithin(freshness.fresh(), FRESH_WAIT_MS, systemClock).catch(() => false);
}

/** @throws {StatusError} 404 for an unknown path below a known one */
function found(document: DocumentResponse | undefined): DocumentResponse {
  if (document === undefined) throw routeNotFound();
  return document;
}
