/** Wiring of this replica's endpoint of the API: from its readiness until its shutdown. */
import { systemClock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Config } from "../config/config.js";
import { runApiEndpoints } from "../controllers/api-endpoints.js";
import { ifServed } from "../controllers/if-served.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { advertisedAddress, firstServiceAddress, isLoopback } from "./own-hosts.js";
import type { Serving } from "./serving.js";

export interface PresenceParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly serving: Serving;
}

export class Presence {
  readonly #parts: PresenceParts;
  readonly #ending = new AbortController();
  #left: Promise<void> = Promise.resolve();

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  announce(): void {
    const { config, serving, logger } = this.#parts;
    const { naming, serviceRanges, endpointReconcilerType } = config;
    const ip = advertisedAddress(config);
    const [range] = serviceRanges.clusterIpRanges;
    // A loopback address is unusable for others and not allowed in an endpoint.
    if (endpointReconcilerType === "none" || isLoopback(ip) || range === undefined) return;
    const options = {
      objects: createLocalObjects(serving.root.registry),
      naming,
      clock: systemClock,
      logger,
      address: { ip, port: serving.listener.port },
      serviceIp: firstServiceAddress(range),
    };
    const { lifecycle } = serving;
    const running = ifServed(logger, "api-endpoints", () =>
      runApiEndpoints(options, this.#ending.signal, lifecycle.signal),
    );
    this.#left = running.catch((error: unknown) => {
      logger.error({ err: error }, "the endpoints of the API are not kept");
    });
    lifecycle.spawn("API endpoints", "leave", () => this.#left);
  }

  withdraw(): Promise<void> {
    this.#ending.abort();
    return this.#left;
  }
}
