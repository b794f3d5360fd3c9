/** Strategy of EndpointSlice. */
import { isRecord } from "../../../storage/base/is-record.js";
import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import type { StrategyContext, StrategyTable } from "../../kinds/strategy.js";
import { warnOfAddress } from "../generic/address-warnings.js";
import { WarningList } from "../generic/warning-list.js";
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
    warnings: sliceWarnings,
    generationFields: ["endpoints", "ports", "addressType", "metadata.labels"],
  },
};

/** Addresses of slices that the cluster's own controllers make are not looked at: those are right. */
function sliceWarnings(
  next: ApiObject,
  current: ApiObject | undefined,
  { naming }: Pick<StrategyContext, "naming">,
): readonly string[] {
  const warnings = new WarningList();
  if (current === undefined && next.addressType === "FQDN") {
    warnings.add("spec.addressType: FQDN endpoints are deprecated");
  }
  const { endpoints } = next as { endpoints?: readonly { addresses?: readonly string[] }[] };
  const maker = next.metadata.labels?.[`endpointslice.${naming.labelDomain}/managed-by`] ?? "";
  const isOwn = OWN_MAKERS.includes(maker.replace(`.${naming.groupDomain}`, ""));
  if (!isOwn) {
    endpoints?.forEach(({ addresses }, at) => {
      addresses?.forEach((address, index) => {
        warnOfAddress(address, `endpoints[${at}].addresses[${index}]`, warnings);
      });
    });
  }
  return warnings.texts;
}

const OWN_MAKERS = ["endpointslice-controller", "endpointslicemirroring-controller"];

/** The first version's labels of a place; this one has fields for them. */
function dropTopology({ endpoints }: ApiObject): void {
  if (!Array.isArray(endpoints)) return;
  for (const endpoint of endpoints) if (isRecord(endpoint)) delete endpoint.deprecatedTopology;
}
