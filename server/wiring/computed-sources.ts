/** Wiring of computed resources, which are served without being stored. */
import { systemClock } from "../../storage/base/clock.js";
import { partitionId } from "../../storage/objects/keys.js";
import type { ApiObject } from "../api/meta.js";
import type { Config } from "../config/config.js";
import { LEASE_NAME } from "../controllers/run-controllers.js";
import type { ComputedSources } from "../endpoints/reads/computed.js";
import { checkLease, componentStatuses } from "../registry/core/component-status.js";
import { parseJson } from "../schema/parse-json.js";
import type { Views } from "./storage.js";

const COMPONENT_STATUSES = "/componentstatuses";

/** Names of the sources, for the catalog. */
export const COMPUTED: readonly string[] = [COMPONENT_STATUSES];

/** Sources for the store's health and for the control loops, wherever they run. */
export function createSources({ naming }: Config, { view, freshness }: Views): ComputedSources {
  const leases = partitionId(`coordination.${naming.groupDomain}`, "leases");
  const lease = `${naming.systemNamespace}/${LEASE_NAME}`;
  const readLease = (): ApiObject | undefined => {
    const object = view.partition(leases).get(lease);
    return object && (parseJson(object.bytes) as unknown as ApiObject);
  };
  return {
    [COMPONENT_STATUSES]: componentStatuses([
      {
        name: "etcd-0",
        async check() {
          await freshness.fresh();
        },
      },
      { name: "controller-manager", check: () => checkLease(readLease(), systemClock.now()) },
    ]),
  };
}
