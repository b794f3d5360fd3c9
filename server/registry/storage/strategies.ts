/** Strategies of the storage group. */

import type { StrategyTable } from "../../kinds/strategy.js";
import { storageCapacityWarnings, storageClassWarnings } from "../core/node-label-warnings.js";
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

export const storageStrategies: StrategyTable = {
  "storage/csidrivers": {
    ...validatesCsiDriver,
    ...replacedWhenSeen,
    generationFields: ["spec"],
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
    returnsDeletedObject: true,
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
