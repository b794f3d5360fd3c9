/** Strategies of the storage group. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus, replacedWhenSeen, statusOnly } from "../generic/status-parts.js";
import {
  validatesCsiDriver,
  validatesCsiNode,
  validatesCsiStorageCapacity,
  validatesStorageClass,
  validatesVolumeAttachment,
  validatesVolumeAttributesClass,
} from "./validate-storage-kinds.js";

export const storageStrategies: StrategyTable = {
  "storage/csidrivers": {
    ...validatesCsiDriver,
    ...replacedWhenSeen,
    generationFields: ["spec"],
    returnsDeletedObject: true,
  },
  "storage/csinodes": {
    ...validatesCsiNode,
    ...replacedWhenSeen,
    returnsDeletedObject: true,
  },
  "storage/csistoragecapacities": {
    ...validatesCsiStorageCapacity,
    ...replacedWhenSeen,
    returnsDeletedObject: true,
  },
  "storage/storageclasses": {
    ...validatesStorageClass,
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
