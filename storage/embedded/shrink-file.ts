/**
 * Gives space of the store's file back, when the store is opened. lmdb takes freed pages for new data
 * and never makes a file shorter, so a file is as long as history has ever been. A copy of what is in
 * use takes its place in one rename: a crash leaves the one or the other. Run by openEmbeddedStore, which
 * holds the directory.
 */
import { chmod, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../base/logger.js";
import { openDatabase, type StoreDatabase } from "./database.js";

/** A file with less to give back is left alone: copying it is a start that takes longer. */
const FREE_BYTES_MIN = 32 * 1024 * 1024;
/** In use of a file that is copied, at most: so a copy is short for what it frees. */
const USED_SHARE_MAX = 0.25;

/** What lmdb-js tells of a table, and with it of the whole file. */
interface TableStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}
interface FileStats extends TableStats {
  readonly lastPageNumber: number;
}

/** @returns the database of the file that is there now */
export async function shrinkFile(
  directory: string,
  database: StoreDatabase,
  logger: Logger,
): Promise<StoreDatabase> {
  const path = join(directory, "store.mdb");
  const copy = `${path}.new`;
  // Of a start that was interrupted.
  await rm(copy, { force: true });
  if (!isMostlyFree(database)) return database;
  try {
    await database.root.backup(copy, true);
    await chmod(copy, 0o600);
    await flush(copy);
    await rename(copy, path);
  } catch (error) {
    // The file serves as it is, and a full disk is no reason not to start.
    logger.warn({ err: error }, "the store's file could not be made shorter");
    await rm(copy, { force: true });
    return database;
  }
  // From here on the old file has no name: what is written to it would be lost.
  await flush(directory);
  await database.root.close();
  return openDatabase(directory);
}

function isMostlyFree(database: StoreDatabase): boolean {
  const { root, current, history, log, leases, leasedKeys } = database;
  const tables = [root, current, history, log, leases, leasedKeys];
  const used = tables.reduce((sum, table) => sum + pagesOf(table.getStats() as TableStats), 0);
  const { pageSize, lastPageNumber } = root.getStats() as FileStats;
  const freeBytes = (lastPageNumber - used) * pageSize;
  return freeBytes >= FREE_BYTES_MIN && used <= lastPageNumber * USED_SHARE_MAX;
}

function pagesOf(stats: TableStats): number {
  return stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
}

/** A rename, or a file's content, is on the disk only when that has been asked for. */
async function flush(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
