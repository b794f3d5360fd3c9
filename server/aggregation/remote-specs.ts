/**
 * RemoteSpecs: the parts of OpenAPI v2 from the servers behind APIServices. Each server's document is fetched
 * once for all of its group-versions, by ETag; only the parts below its own group-versions are kept. If a
 * server fails, or its document cannot be published, its last one stays.
 */

import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import { formatGroupVersion } from "../api/names.js";
import { parseAnswer } from "../client/read-answer.js";
import { entriesOf } from "../endpoints/openapi/documents.js";
import { encodeGnostic } from "../endpoints/openapi/gnostic.js";
import { partBelow, type RemoteSpec } from "../endpoints/openapi/merge-v2.js";
import type { SchemaObject } from "../endpoints/openapi/schema-object.js";
import type { RemoteService } from "./api-services.js";
import { type Fetched, OPENAPI_V2 } from "./remote-documents.js";
import type { RemoteServer } from "./remote-server.js";

/** Each group-version of a server requests a fetch; within this time only the first one is made. */
const ASKED_AGAIN_MS = 15_000;

/** The specs of one server's group-versions. */
interface Known {
  readonly services: readonly RemoteService[];
  readonly askedAtMs: number;
  readonly etag: string;
  /** By service name, because a service may be reconfigured for the same server. */
  readonly specs: ReadonlyMap<string, RemoteSpec>;
}

export interface RemoteSpecsOptions {
  /** @throws {Error} if there is no timely answer */
  readonly fetch: (remote: RemoteServer, path: string, etag: string) => Promise<Fetched>;
  readonly serverOf: (service: RemoteService) => RemoteServer;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RemoteSpecs {
  readonly #options: RemoteSpecsOptions;
  /** Keyed by the server's address. */
  readonly #known = new Map<string, Known>();
  #current: readonly RemoteSpec[] = [];

  constructor(options: RemoteSpecsOptions) {
    this.#options = options;
  }

  /** In the order of the services; the same list until a change. */
  get current(): readonly RemoteSpec[] {
    return this.#current;
  }

  /**
   * Fetches the document of a service's server, unless another group-version has just done so. Never rejects.
   * @param services all services
   */
  async refresh(service: RemoteService, services: readonly RemoteService[]): Promise<void> {
    const key = serverKey(service);
    const own = services.filter((one) => serverKey(one) === key);
    try {
      await this.#refreshServer(key, own);
    } catch (error) {
      const fields = { apiService: service.name, err: oneLine(error) };
      this.#options.logger.debug(fields, "an API service has no OpenAPI v2 to publish");
      return;
    }
    this.keepOnly(services);
  }

  /** Drops the specs of other services. */
  keepOnly(services: readonly RemoteService[]): void {
    const servers = new Set(services.map(serverKey));
    for (const server of this.#known.keys()) if (!servers.has(server)) this.#known.delete(server);
    const specs = services
      .map((service) => this.#known.get(serverKey(service))?.specs.get(service.name))
      .filter((spec) => spec !== undefined);
    const isSame =
      specs.length === this.#current.length &&
      specs.every((spec, index) => spec === this.#current[index]);
    if (!isSame) this.#current = specs;
  }

  async #refreshServer(server: string, services: readonly RemoteService[]): Promise<void> {
    const [first] = services;
    if (first === undefined) return;
    const { fetch, serverOf, clock } = this.#options;
    const known = this.#known.get(server);
    const isSame =
      known?.services.length === services.length &&
      known.services.every((service, index) => service === services[index]);
    const nowMs = clock.monotonic();
    if (isSame && nowMs - known.askedAtMs < ASKED_AGAIN_MS) return;
    const answer = await fetch(serverOf(first), OPENAPI_V2, isSame ? known.etag : "");
    if (isSame) this.#known.set(server, { ...known, askedAtMs: nowMs });
    if (isSame && (answer.status === 304 || (answer.etag !== "" && answer.etag === known.etag))) {
      return;
    }
    if (answer.status !== 200) throw new Error(`${OPENAPI_V2}: status ${answer.status}`);
    const document = await parseAnswer(answer.body);
    const specs = new Map<string, RemoteSpec>();
    for (const service of services) {
      const spec = partBelow(document, `/apis/${formatGroupVersion(service)}/`);
      await checkPublishable(spec);
      specs.set(service.name, spec);
    }
    this.#known.set(server, { services, askedAtMs: nowMs, etag: answer.etag, specs });
  }
}

/** @throws {Error} for a part without a Protobuf form, which would make that form of the whole document impossible */
async function checkPublishable({ paths, definitions, parameters }: RemoteSpec): Promise<void> {
  const head = { parameters: Object.fromEntries(parameters) };
  const schemas = definitions as unknown as ReadonlyMap<string, SchemaObject>;
  await encodeGnostic({
    version: "v2",
    head,
    paths: entriesOf(paths),
    schemas: entriesOf(schemas),
    schemaOf: (name) => schemas.get(name),
  });
}

/** Services with the same key belong to one server with the same trust. */
function serverKey({
  namespace,
  service,
  port,
  caBundle,
  skipsVerification,
}: RemoteService): string {
  return JSON.stringify([namespace, service, port, caBundle, skipsVerification]);
}
