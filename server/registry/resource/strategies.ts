/** Strategies of the resource group: devices and claims of them. */
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import { formatTime } from "../../api/time.js";
import { checkLongName } from "../../api/validation-names.js";
import type { StrategyContext, StrategyTable } from "../../kinds/strategy.js";

import { selectable } from "../generic/fields.js";
import { checkImmutable, dropsStatus, specAndStatus, statusOnly } from "../generic/status-parts.js";
import {
  type ClaimStatus,
  type DeviceClass,
  type DeviceTaintRule,
  identityKey,
  type ResourceClaim,
  type ResourceClaimTemplate,
  type ResourceSlice,
} from "./device-types.js";
import { dropDisabledFields } from "./slice-fields.js";
import { validateClaimMetadata } from "./template-metadata.js";
import { validateClaimSpec } from "./validate-claim.js";
import { validateClaimStatus } from "./validate-claim-status.js";
import {
  validateDeviceClass,
  validateTaintRule,
  validateTaintRuleStatus,
} from "./validate-device-kinds.js";
import { validateSlice } from "./validate-slice.js";

export const resourceStrategies: StrategyTable = {
  "resource/deviceclasses": {
    validateName: checkLongName,
    generationFields: ["spec"],
    returnsDeletedObject: true,
    validate: (next, context) => validateDeviceClass(next as DeviceClass, undefined, context),
    validateUpdate: (next, current, context) =>
      validateDeviceClass(next as DeviceClass, current as DeviceClass, context),
  },
  "resource/resourceclaims": {
    ...dropsStatus,
    ...statusOnly,
    prepareForUpdate(next, current, context) {
      statusOnly.prepareForUpdate(next, current, context);
      if (context.subresource === "status") dropDeallocated(next, current);
    },
    returnsDeletedObject: true,
    validate(next, { long }) {
      const errors = new Problems();
      validateClaimSpec((next as ResourceClaim).spec, "spec", { errors, long });
      return errors;
    },
    validateUpdate: (next, current, { subresource }) =>
      subresource === "status"
        ? validateClaimStatus(next as ResourceClaim, current as ResourceClaim)
        : checkImmutable(next, current, ["spec"]),
  },
  "resource/resourceclaimtemplates": {
    returnsDeletedObject: true,
    validate: validateTemplate,
    // What may not change is judged all the same.
    validateUpdate: (next, current, context) => [
      ...checkImmutable(next, current, ["spec"]),
      ...validateTemplate(next, context),
    ],
  },
  "resource/resourceslices": {
    generationFields: ["spec"],
    returnsDeletedObject: true,
    ...selectable(["spec.nodeName", "spec.driver"]),
    prepareForCreate: (next) => dropDisabledFields(next as ResourceSlice, undefined),
    prepareForUpdate: (next, current) =>
      dropDisabledFields(next as ResourceSlice, current as ResourceSlice),
    validate: (next) => validateSlice(next as ResourceSlice, undefined),
    validateUpdate: (next, current) =>
      validateSlice(next as ResourceSlice, current as ResourceSlice),
    warnings(next) {
      const { driver = "" } = (next as ResourceSlice).spec ?? {};
      if (driver === driver.toLowerCase()) return [];
      const name = JSON.stringify(driver);
      return [
        `spec.driver: driver names should be lowercase; ${name} contains uppercase characters`,
      ];
    },
  },
  "resource/resourcepoolstatusrequests": { ...dropsStatus, ...statusOnly },
  "resource/devicetaintrules": {
    ...specAndStatus,
    ...statusOnly,
    prepareForUpdate(next, current, context) {
      statusOnly.prepareForUpdate(next, current, context);
      if (context.subresource === "") keepTaintTimeTrue(next, current, context.nowMs);
    },
    validate: (next) => validateTaintRule(next as DeviceTaintRule, undefined),
    validateUpdate: (next, current, { subresource }) =>
      subresource === "status"
        ? validateTaintRuleStatus(next as DeviceTaintRule)
        : validateTaintRule(next as DeviceTaintRule, current as DeviceTaintRule),
  },
};

function validateTemplate(next: ApiObject, { long }: StrategyContext) {
  const errors = new Problems();
  const { spec = {} } = next as ResourceClaimTemplate;
  validateClaimMetadata(spec.metadata, "spec.metadata", errors);
  validateClaimSpec(spec.spec, "spec.spec", { errors, long });
  return errors;
}

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

/** `timeAdded` says since when the effect holds, unless the client moved it itself. */
function keepTaintTimeTrue(next: ApiObject, current: ApiObject, nowMs: number): void {
  const { spec } = next as DeviceTaintRule;
  const before = (current as DeviceTaintRule).spec?.taint;
  const { effect, timeAdded } = spec?.taint ?? {};
  if (effect === before?.effect || timeAdded !== before?.timeAdded) return;
  next.spec = { ...spec, taint: { ...spec?.taint, timeAdded: formatTime(nowMs) } };
}
