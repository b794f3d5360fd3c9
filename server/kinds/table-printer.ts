/**
 * TablePrinter: the columns of one type and the cells of a row. Columns and cell texts equal those
 * that kubectl shows for the existing system (S1-TABLE-07); `-o wide` adds priority 1.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";

export type Cell = string | number | bigint | boolean;

/** One member of `columnDefinitions`. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface RowCondition {
  readonly type: "Completed";
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
}

export interface Row {
  readonly cells: readonly Cell[];
  readonly conditions?: readonly RowCondition[];
}

export interface TablePrinter {
  readonly columns: readonly Column[];
  /** @param nowMs wall clock: ages depend on it, so rows are not cached */
  row(object: StoredObject, nowMs: number): Row;
}

/** Printers by "group/resource", groups without the domain. */
export type Tables = Readonly<Record<string, TablePrinter>>;
