/** Which columns a resource has: its group's table, the scale table, or the default. */
import type { Naming } from "../../api/naming.js";
import { isStored, type ServedResource } from "../../kinds/served-resource.js";
import type { TablePrinter } from "../../kinds/table-printer.js";
import { APPS_TABLES, SCALE_TABLE } from "./apps.js";
import { coreTables } from "./core.js";
import { DEFAULT_TABLE } from "./default-table.js";
import { otherTables } from "./others.js";

export type PrinterOf = (resource: ServedResource) => TablePrinter;

export function createPrinters(naming: Naming): PrinterOf {
  const tables: ReadonlyMap<string, TablePrinter> = new Map(
    Object.entries({ ...coreTables(naming), ...APPS_TABLES, ...otherTables(naming) }),
  );
  const suffix = `.${naming.groupDomain}`;
  return (served) => {
    if (isStored(served) && served.printer !== undefined) return served.printer;
    const { group, resource, kind } = served;
    if (kind === "Scale") return SCALE_TABLE;
    const shortGroup = group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
    return tables.get(`${shortGroup}/${resource}`) ?? DEFAULT_TABLE;
  };
}
