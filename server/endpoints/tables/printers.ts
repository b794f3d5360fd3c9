/** Chooses the columns of a resource: its group's table, the scale table or the default. */
import type { Naming } from "../../api/naming.js";
import { isCustom, isStored, type ServedResource } from "../../kinds/served-resource.js";
import type { TablePrinter } from "../../kinds/table-printer.js";
import { ADMISSIONREGISTRATION_TABLES } from "./admissionregistration.js";
import { APIREGISTRATION_TABLES } from "./apiregistration.js";
import { APPS_TABLES, CUSTOM_SCALE_TABLE, SCALE_TABLE } from "./apps.js";
import { CERTIFICATES_TABLES } from "./certificates.js";
import { COORDINATION_TABLES } from "./coordination.js";
import { coreTables, EVENTS_TABLE } from "./core.js";
import { DEFAULT_TABLE } from "./default-table.js";
import { DISCOVERY_TABLES } from "./discovery.js";
import { FLOWCONTROL_TABLES } from "./flowcontrol.js";
import { NETWORKING_TABLES } from "./networking.js";
import { NODE_TABLES } from "./node.js";
import { RBAC_TABLES } from "./rbac.js";
import { RESOURCE_TABLES } from "./resource.js";
import { SCHEDULING_TABLES } from "./scheduling.js";
import { storageTables } from "./storage.js";
import { STORAGE_VERSION_TABLES } from "./storage-versions.js";

export type PrinterOf = (resource: ServedResource) => TablePrinter;

export function createPrinters(naming: Naming): PrinterOf {
  const tables: ReadonlyMap<string, TablePrinter> = new Map(
    Object.entries({
      ...coreTables(naming),
      ...APPS_TABLES,
      ...NETWORKING_TABLES,
      ...DISCOVERY_TABLES,
      ...RBAC_TABLES,
      ...CERTIFICATES_TABLES,
      ...ADMISSIONREGISTRATION_TABLES,
      ...APIREGISTRATION_TABLES,
      ...SCHEDULING_TABLES,
      ...NODE_TABLES,
      ...COORDINATION_TABLES,
      ...RESOURCE_TABLES,
      ...FLOWCONTROL_TABLES,
      ...storageTables(naming),
      ...STORAGE_VERSION_TABLES,
      "events/events": EVENTS_TABLE,
    }),
  );
  const suffix = `.${naming.groupDomain}`;
  return (served) => {
    const { group, resource, kind } = served;
    if (kind === "Scale") return isCustom(served) ? CUSTOM_SCALE_TABLE : SCALE_TABLE;
    if (isStored(served) && served.printer !== undefined) return served.printer;
    const shortGroup = group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
    return tables.get(`${shortGroup}/${resource}`) ?? DEFAULT_TABLE;
  };
}
