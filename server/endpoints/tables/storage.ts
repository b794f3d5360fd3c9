/** Columns of the storage group. */
import type { Naming } from "../../api/naming.js";
import type { Cell, Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  booleanColumn,
  type Fields,
  integerColumn,
  list,
  NAME,
  NAME_COLUMN,
  nameColumn,
  orNone,
  specText,
  table,
  text,
  textColumn,
  texts,
} from "./cells.js";

export function storageTables({ labelDomain }: Naming): Tables {
  const nameWithDefault = (annotation: string) => ({
    column: NAME_COLUMN,
    cell: (object: Fields): Cell => {
      const isDefault = text(object, "metadata", "annotations", annotation) === "true";
      return `${text(object, "metadata", "name")}${isDefault ? " (default)" : ""}`;
    },
  });
  const classAnnotation = `storageclass.${labelDomain}/is-default-class`;
  const betaAnnotation = `storageclass.beta.${labelDomain}/is-default-class`;
  const current = nameWithDefault(classAnnotation);
  const older = nameWithDefault(betaAnnotation);
  const name = {
    column: NAME_COLUMN,
    cell: (object: Fields): Cell => {
      const shown = current.cell(object);
      return shown === text(object, "metadata", "name") ? older.cell(object) : shown;
    },
  };
  return {
    "storage/storageclasses": table(
      name,
      textColumn("Provisioner", (object) => text(object, "provisioner")),
      textColumn("ReclaimPolicy", (object) => orNone(text(object, "reclaimPolicy"), "Delete")),
      textColumn("VolumeBindingMode", (object) =>
        orNone(text(object, "volumeBindingMode"), "Immediate"),
      ),
      textColumn("AllowVolumeExpansion", (object) => at(object, "allowVolumeExpansion") === true),
      AGE,
    ),
    "storage/volumeattributesclasses": table(
      nameWithDefault(`volumeattributesclass.${labelDomain}/is-default-class`),
      textColumn("DriverName", (object) => text(object, "driverName")),
      AGE,
    ),
    "storage/volumeattachments": table(
      NAME,
      nameColumn("Attacher", (object) => text(object, "spec", "attacher")),
      textColumn("PV", (object) => text(object, "spec", "source", "persistentVolumeName")),
      specText("Node", "nodeName"),
      booleanColumn("Attached", (object) => at(object, "status", "attached") === true),
      AGE,
    ),
    "storage/csinodes": table(
      NAME,
      integerColumn("Drivers", (object) => list(object, "spec", "drivers").length),
      AGE,
    ),
    "storage/csidrivers": table(
      NAME,
      booleanColumn("AttachRequired", (object) => at(object, "spec", "attachRequired") !== false),
      booleanColumn("PodInfoOnMount", (object) => at(object, "spec", "podInfoOnMount") === true),
      booleanColumn("StorageCapacity", (object) => at(object, "spec", "storageCapacity") === true),
      textColumn("TokenRequests", (object) =>
        at(object, "spec", "tokenRequests") === undefined
          ? "<unset>"
          : list(object, "spec", "tokenRequests")
              .map((request) => text(request, "audience"))
              .join(","),
      ),
      booleanColumn(
        "RequiresRepublish",
        (object) => at(object, "spec", "requiresRepublish") === true,
      ),
      textColumn("Modes", (object) =>
        orNone(texts(object, "spec", "volumeLifecycleModes").join(",")),
      ),
      AGE,
    ),
  };
}
