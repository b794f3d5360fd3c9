/** Strategy of EndpointSlice. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { validatesEndpointSlice } from "./validate-endpoint-slice.js";

export const discoveryStrategies: StrategyTable = {
  "discovery/endpointslices": {
    ...validatesEndpointSlice,
    generationFields: ["endpoints", "ports", "addressType"],
  },
};
