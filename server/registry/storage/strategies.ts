/** Strategies of the storage group. */

import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { storageCapacityWarnings, storageClassWarnings } from "../core/node-label-warnings.js";
import { membersAt } from "../generic/fields.js";
import { dropGatedFields } from "../generic/gated-fields.js";
import { dropsStatus, replacedWhenSeen, statusOnly } from "../generic/status-parts.js";
import {
  validatesCsiDriver,
  validatesCsiNode,
  validatesCsiStorageCapacity,
  validatesStorageClass,
  validatesVolumeAttachment,
  validatesVolumeAttributesClass,
} from "./validate-storage-kinds.js";

const DRIVER_GATED = ["spec.preventPodSchedulingIfMissing"];

/** A driver that gets tokens should get them where it does not log them. */
function driverWarnings(next: ApiObject, current: ApiObject | undefined): readonly string[] {
  const { tokenRequests, serviceAccountTokenInSecrets } = membersAt(next, "spec");
  const hasRequests = Array.isArray(tokenRequests) && tokenRequests.length > 0;
  const isChanged =
    current === undefined || !deepEqual(tokenRequests, membersAt(current, "spec").tokenRequests);
  if (!hasRequests || !isChanged || typeof serviceAccountTokenInSecrets === "boolean") return [];
  return [
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
  ];
}

export const storageStrategies: StrategyTable = {
  "storage/csidrivers": {
    ...validatesCsiDriver,
    ...replacedWhenSeen,
    generationFields: ["spec"],
    isGenerationLate: true,
    warnings: driverWarnings,
    prepareForCreate: (next) => dropGatedFields(next, undefined, DRIVER_GATED),
    prepareForUpdate: (next, current) => dropGatedFields(next, current, DRIVER_GATED),
    returnsDeletedObject: true,
  },
  "storage/csinodes": {
    ...validatesCsiNode,
    ...replacedWhenSeen,
    returnsDeletedObject: true,
  },
  "storage/csistoragecapacities": {
    ...validatesCsiStorageCapacity,
    warnings: storageCapacityWarnings,
    ...replacedWhenSeen,
  },
  "storage/storageclasses": {
    ...validatesStorageClass,
    warnings: storageClassWarnings,
    returnsDeletedObject: true,
    judges: "classes",
  },
  "storage/volumeattachments": {
    ...validatesVolumeAttachment,
    ...dropsStatus,
    ...statusOnly,
    ...replacedWhenSeen,
    returnsDeletedObject: true,
  },
  "storage/volumeattributesclasses": {
    ...validatesVolumeAttributesClass,
    returnsDeletedObject: true,
  },
};
