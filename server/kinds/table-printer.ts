/**
 * TablePrinter: the columns of one type and how the cells of a row are made. Names,
 * order, types and priorities of columns and the words in cells are those that kubectl
 * shows of the existing system (S1-TABLE-07); priority 1 is what `-o wide` adds.
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
  /** @param nowMs wall clock: ages are those of this moment, so rows are not kept */
  row(object: StoredObject, nowMs: number): Row;
}

/** Printers by "group/resource", groups without the domain. */
export type Tables = Readonly<Record<string, TablePrinter>>;
