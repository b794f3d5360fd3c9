/** Wiring of what servers of tests have besides: the record of requests, whether anything moves, snapshots, and faults. */
import { systemClock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { OfOtherFolder } from "../chain/request-chain.js";
import type { Config } from "../config/config.js";
import type { ControlledResource, ObjectsApi } from "../controllers/objects-api.js";
import type { Registry } from "../registry/registry.js";
import { withEndpoints } from "../test-api/endpoints.js";
import { faultEndpoints } from "../test-api/fault-endpoints.js";
import { Faults } from "../test-api/faults.js";
import type { MovableClock } from "../test-api/movable-clock.js";
import { RequestObserver } from "../test-api/request-observer.js";
import { Snapshots } from "../test-api/snapshots.js";
import { testEndpoints } from "../test-api/test-endpoints.js";
import type { OpenedStore } from "./store.js";

export interface TestApi {
  /** The store as the registry is to use it. */
  observed(storage: OpenedStore): OpenedStore;
  /** The objects as the server's own loops are to use them. */
  watchLoops(objects: ObjectsApi): ObjectsApi;
  /** Notes that something moves. @returns its end */
  begin(what: string): () => void;
  /** The parts of the request chain. */
  steps(registry: Registry): OfOtherFolder;
}

/** undefined = an ordinary server, which pays nothing for it. */
export function openTestApi(
  config: Config,
  logger: Logger,
  clock: MovableClock | undefined,
): TestApi | undefined {
  const { enableTestApi, enableFaultInjection, naming, etcdPrefix } = config;
  if (!enableTestApi && !enableFaultInjection) return undefined;
  const leases = `coordination.${naming.groupDomain}`;
  const observer = new RequestObserver(systemClock, etcdPrefix, leases);
  return {
    observed: (storage) => ({ ...storage, store: observer.watch(storage.store) }),
    watchLoops: (objects) => watchLoops(objects, observer),
    begin: (what) => observer.activity.begin(what),
    steps: (registry) => ({
      outer: observer.outer,
      inner: observer.inner,
      middlewares: [
        observer.middleware,
        ...(enableTestApi && clock !== undefined
          ? [withEndpoints(testEndpoints(observer, new Snapshots(registry), clock))]
          : []),
        ...(enableFaultInjection ? orderedFaults(registry, observer, logger) : []),
      ],
    }),
  };
}

function orderedFaults(registry: Registry, observer: RequestObserver, logger: Logger) {
  const revision = () => registry.view.revision;
  const faults = new Faults({ clock: systemClock, logger, observer, revision });
  return [withEndpoints(faultEndpoints(faults)), faults.middleware];
}

/** A loop that writes may wait for webhooks. */
function watchLoops(objects: ObjectsApi, observer: RequestObserver): ObjectsApi {
  const { activity } = observer;
  const during = <T>(written: ControlledResource, run: () => Promise<T>) =>
    observer.isLease(written)
      ? run()
      : activity.during(`a control loop that writes ${written.resource}`, run);
  const writes: Pick<ObjectsApi, "because" | "create" | "update" | "remove" | "deleteAll"> = {
    because: (cause) => watchLoops(objects.because(cause), observer),
    create: (resource, ...args) => during(resource, () => objects.create(resource, ...args)),
    update: (resource, ...args) => during(resource, () => objects.update(resource, ...args)),
    remove: (resource, ...args) => during(resource, () => objects.remove(resource, ...args)),
    deleteAll: (resource, ...args) => during(resource, () => objects.deleteAll(resource, ...args)),
  };
  // What reads stays as it is, getters included.
  return Object.assign(Object.create(objects) as ObjectsApi, writes);
}
