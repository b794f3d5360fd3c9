/** Which columns a resource has: its group's table, the scale table, or the default. */
import type { Naming } from "../../api/naming.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import { APPS_TABLES, SCALE_TABLE } from "./apps.js";
import { coreTables } from "./core.js";
import { DEFAULT_TABLE } from "./default-table.js";
import { otherTables } from "./others.js";
import type { TablePrinter } from "./printer.js";

export type PrinterOf = (resource: ServedResource) => TablePrinter;

export function createPrinters(naming: Naming): PrinterOf {
  const tables: ReadonlyMap<string, TablePrinter> = new Map(
    Object.entries({ ...coreTables(naming), ...APPS_TABLES, ...otherTables(naming) }),
  );
  const suffix = `.${naming.groupDomain}`;
  return ({ group, resource, kind }) => {
    if (kind === "Scale") return SCALE_TABLE;
    const shortGroup = group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
    return tables.get(`${shortGroup}/${resource}`) ?? DEFAULT_TABLE;
  };
}
