/** How large the embedded store is: its file, and the pages of it that are in use. */
import type { StoreDatabase } from "./database.js";

/** lmdb-js's statistics of a table, which include those of the whole file. */
interface TableStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}
interface FileStats extends TableStats {
  readonly lastPageNumber: number;
}

export interface StoreSize {
  /** lmdb never gives pages back while the store is open; freed ones are used again. */
  readonly fileBytes: number;
  readonly usedBytes: number;
}

export function sizeOf(database: StoreDatabase): StoreSize {
  const { root, current, history, log, leases, leasedKeys } = database;
  const tables = [root, current, history, log, leases, leasedKeys];
  const pages = tables.reduce((sum, table) => sum + pagesOf(table.getStats() as TableStats), 0);
  const { pageSize, lastPageNumber } = root.getStats() as FileStats;
  return { fileBytes: lastPageNumber * pageSize, usedBytes: pages * pageSize };
}

function pagesOf(stats: TableStats): number {
  return stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
}
