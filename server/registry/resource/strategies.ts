/** Strategies of the resource group: devices and claims of them. */
import type { ApiObject } from "../../api/meta.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { selectable } from "../generic/fields.js";
import { checkImmutable, dropsStatus, specAndStatus, statusOnly } from "../generic/status-parts.js";
import { type ClaimStatus, identityKey, type ResourceClaim } from "./device-types.js";

export const resourceStrategies: StrategyTable = {
  "resource/deviceclasses": { generationFields: ["spec"], returnsDeletedObject: true },
  "resource/resourceclaims": {
    ...dropsStatus,
    prepareForUpdate(next, current, context) {
      statusOnly.prepareForUpdate?.(next, current, context);
      if (context.subresource === "status") dropDeallocated(next, current);
    },
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource/resourceclaimtemplates": {
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource/resourceslices": {
    generationFields: ["spec"],
    returnsDeletedObject: true,
    ...selectable(["spec.nodeName", "spec.driver"]),
  },
  "resource/devicetaintrules": specAndStatus,
};

/** What is reported about devices goes with their allocation, as clients may not know of such reports. */
function dropDeallocated(next: ApiObject, current: ApiObject): void {
  const status = (next as ResourceClaim).status;
  if ((status?.devices ?? []).length === 0) return;
  const keysOf = (claim: ClaimStatus | undefined) =>
    new Set((claim?.allocation?.devices?.results ?? []).map(identityKey));
  const gone = keysOf((current as ResourceClaim).status);
  for (const key of keysOf(status)) gone.delete(key);
  if (gone.size === 0) return;
  const { devices, ...rest } = status as ClaimStatus;
  const kept = (devices ?? []).filter((device) => !gone.has(identityKey(device)));
  next.status = kept.length === 0 ? rest : { ...rest, devices: kept };
}
