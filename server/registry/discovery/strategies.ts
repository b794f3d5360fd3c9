/** Strategy of EndpointSlice. */
import { isRecord } from "../../../storage/base/is-record.js";
import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { validatesEndpointSlice } from "./validate-endpoint-slice.js";

export const discoveryStrategies: StrategyTable = {
  "discovery/endpointslices": {
    ...validatesEndpointSlice,
    // A zone may be called "" in a hint.
    ownFields: /^endpoints\[\d+\]\.hints\./,
    prepareForCreate: dropTopology,
    prepareForUpdate(next, current) {
      if (!deepEqual(next.endpoints ?? [], current.endpoints ?? [])) dropTopology(next);
    },
    warnings: (next, current) =>
      current === undefined && next.addressType === "FQDN"
        ? ["spec.addressType: FQDN endpoints are deprecated"]
        : [],
    generationFields: ["endpoints", "ports", "addressType", "metadata.labels"],
  },
};

/** The first version's labels of a place; this one has fields for them. */
function dropTopology({ endpoints }: ApiObject): void {
  if (!Array.isArray(endpoints)) return;
  for (const endpoint of endpoints) if (isRecord(endpoint)) delete endpoint.deprecatedTopology;
}
