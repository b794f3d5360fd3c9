/**
 * Wiring of aggregation: the APIServices, the connections to their servers, and the reporting of
 * their status.
 */
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { partitionId } from "../../storage/objects/keys.js";
import { runAggregation, withAggregation } from "../aggregation/aggregation.js";
import { ApiServices, type RemoteService } from "../aggregation/api-services.js";
import { RemoteContent } from "../aggregation/remote-content.js";
import { RemoteDocuments } from "../aggregation/remote-documents.js";
import { RemoteServer, RemoteServers } from "../aggregation/remote-server.js";
import { RemoteSpecs } from "../aggregation/remote-specs.js";
import { AllServedGroups } from "../aggregation/served-groups.js";
import { ServiceChanges } from "../aggregation/service-changes.js";
import { checkService } from "../aggregation/service-check.js";
import { formatGroupVersion } from "../api/names.js";
import type { Config } from "../config/config.js";
import { reportAvailability } from "../controllers/api-service-loop.js";
import { isLostRace } from "../controllers/lost-race.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import type { RemoteSpec } from "../endpoints/openapi/merge-v2.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import { resolveService } from "../outbound/services.js";
import type { ClientIdentity } from "../outbound/tls-connections.js";
import type { LastingAnswers } from "../request/lasting-answers.js";
import type { Barrier } from "../request/reach-now.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestMiddleware } from "../request/request-state.js";
import type { Facts } from "../schema/model.js";
import type { OutgoingPlaces } from "./outgoing-places.js";
import { precedenceOf } from "./served-group-versions.js";

export interface Aggregation {
  readonly middleware: RequestMiddleware;
  /** Local and remote kinds, for discovery. */
  readonly groups: AllServedGroups;
  /** Other servers' parts of OpenAPI v3: key and hash. */
  readonly openApiParts: () => ReadonlyMap<string, string>;
  /** Other servers' parts of the OpenAPI v2 document. */
  readonly openApiSpecs: () => readonly RemoteSpec[];
  /** Whether a path names a resource that another server publishes. */
  isServed(info: RequestInfo): boolean;
  /** What other servers keep of namespaces. */
  readonly content: RemoteContent;
  /** Tracks the services, and writes their availability into their status. */
  spawn(lifecycle: Lifecycle, objects: ObjectsApi): void;
  /** Ends its connections, where nothing was spawned. */
  close(): void;
}

export interface AggregationWiring {
  readonly config: Config;
  readonly view: RegistryView;
  readonly catalog: CatalogSource;
  readonly facts: Facts;
  readonly freshness: Barrier;
  readonly outgoing: OutgoingPlaces;
  readonly lasting: LastingAnswers;
  /** By which other servers know this one. */
  readonly identity: () => ClientIdentity;
  readonly logger: Logger;
  /** Absent in a process that does not serve. */
  readonly metrics?: Metrics;
}

/** Before the view has started. */
export function createAggregation(wiring: AggregationWiring): Aggregation {
  const { config, view, catalog, facts, freshness, outgoing, lasting, identity, logger } = wiring;
  const { naming } = config;
  const services = new ApiServices();
  view
    .partition(partitionId(`apiregistration.${naming.groupDomain}`, "apiservices"))
    .observe(services);
  const routes = { view, naming, usesEndpoints: config.enableAggregatorRouting };
  const servers = new RemoteServers(
    (service) =>
      new RemoteServer({
        service,
        identity,
        locate: () => resolveService(routes, { ...service, name: service.service }),
      }),
  );
  outgoing.add("apiservice", servers);
  const documents = new RemoteDocuments();
  const specs = new RemoteSpecs({
    fetch: (remote, path, etag) => documents.fetch(remote, path, etag),
    serverOf: (service) => servers.of(service),
    clock: systemClock,
    logger,
  });
  const groups = new AllServedGroups({
    local: catalog,
    precedenceOf: (groupVersion) => precedenceOf(groupVersion, facts),
    remote: () => services.all,
    publicationOf: (service) => documents.of(service),
  });
  services.subscribe(() => groups.changed());
  const parts = {
    services,
    changes: new ServiceChanges(view, naming),
    servers,
    lasting,
    check: (service: RemoteService) => checkService(routes, service),
    documents,
    specs,
    groups,
    catalog,
    freshness,
    clock: systemClock,
    logger,
    onUnavailable: wiring.metrics && observeAvailability(wiring.metrics, services),
  };
  return {
    middleware: withAggregation(parts),
    groups,
    openApiParts() {
      const found = new Map<string, string>();
      for (const { service } of services.all) {
        const hash = documents.of(service)?.openApiHash;
        if (hash !== undefined) found.set(`apis/${formatGroupVersion(service)}`, hash);
      }
      return found;
    },
    openApiSpecs: () => specs.current,
    close: () => servers.close(),
    content: new RemoteContent({ services, servers, documents, naming }),
    isServed({ group, version, resource, subresource }) {
      const entry = services.find(group, version);
      const facts = entry && documents.of(entry.service)?.served.facts;
      return (
        facts?.some((one) => one.resource === resource && one.subresource === subresource) === true
      );
    },
    spawn(lifecycle, objects) {
      lifecycle.spawn("aggregation", "restart", (signal) =>
        runAggregation(
          parts,
          async (name, found) => {
            try {
              await reportAvailability(
                { objects, clock: systemClock, naming },
                name,
                found,
                signal,
              );
            } catch (error) {
              // Another replica has reported it first.
              if (!isLostRace(error)) throw error;
            }
          },
          signal,
        ),
      );
    },
  };
}

/** @returns counts a service that is found unavailable */
function observeAvailability(metrics: Metrics, services: ApiServices) {
  metrics.gauge(
    {
      name: "aggregator_unavailable_apiservice",
      help: "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
      labelNames: ["name"],
    },
    (set) => {
      for (const [name, isAvailable] of services.availabilities) set(isAvailable ? 0 : 1, name);
    },
  );
  const counter = metrics.counter({
    name: "aggregator_unavailable_apiservice_total",
    help: "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
    labelNames: ["name", "reason"],
  });
  return (name: string, reason: string) => counter.add(1, name, reason);
}
