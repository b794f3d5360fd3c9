/** Columns of the groups about how objects are stored: versions that servers write, and migrations. */
import type { Tables } from "../../kinds/table-printer.js";
import { AGE, firstFew, LIST_MAX, list, NAME, orNone, table, text, textColumn } from "./cells.js";

const ENDS = ["Running", "Failed", "Succeeded"];

export const STORAGE_VERSION_TABLES: Tables = {
  "internal.apiserver/storageversions": table(
    NAME,
    textColumn("CommonEncodingVersion", (object) =>
      orNone(text(object, "status", "commonEncodingVersion"), "<unset>"),
    ),
    textColumn("StorageVersions", (object) => {
      const versions = list(object, "status", "storageVersions").map(
        (one) => `${text(one, "apiServerID")}=${text(one, "encodingVersion")}`,
      );
      return firstFew(versions, LIST_MAX);
    }),
    AGE,
  ),
  "storagemigration/storageversionmigrations": table(
    textColumn("Name", (object) => text(object, "metadata", "name")),
    textColumn("Resource", (object) => {
      const group = text(object, "spec", "resource", "group");
      const resource = text(object, "spec", "resource", "resource");
      return group === "" ? resource : `${resource}.${group}`;
    }),
    textColumn("Status", (object) => {
      const held = list(object, "status", "conditions").filter(
        (condition) => text(condition, "status") === "True",
      );
      const types = held.map((condition) => text(condition, "type"));
      return types.findLast((type) => ENDS.includes(type)) ?? "Unknown";
    }),
  ),
};
