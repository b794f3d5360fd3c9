/**
 * Shrinks the store's file when the store is opened. lmdb reuses freed pages and never truncates a file,
 * so a file is as long as its largest history. A copy of the used pages replaces it in one rename: a
 * crash leaves either file. Run by openEmbeddedStore, which holds the directory lock.
 */
import { chmod, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../base/logger.js";
import { openDatabase, type StoreDatabase } from "./database.js";
import { sizeOf } from "./store-size.js";

/** A file with less free space is left alone: copying it would delay the start. */
const FREE_BYTES_MIN = 32 * 1024 * 1024;
/**
 * A file is copied only below this share of used space, so that the copy is short for what it
 * frees.
 */
const USED_SHARE_MAX = 0.25;

/** @returns the database of the resulting file */
export async function shrinkFile(
  directory: string,
  database: StoreDatabase,
  logger: Logger,
): Promise<StoreDatabase> {
  const path = join(directory, "store.mdb");
  const copy = `${path}.new`;
  // Left by an interrupted start.
  await rm(copy, { force: true });
  if (!isMostlyFree(database)) return database;
  try {
    await database.root.backup(copy, true);
    await chmod(copy, 0o600);
    await flush(copy);
    await rename(copy, path);
  } catch (error) {
    // The file works as it is, and a full disk is no reason not to start.
    logger.warn({ err: error }, "the store's file could not be made shorter");
    await rm(copy, { force: true });
    return database;
  }
  // From here on the old file has no name: writes to it would be lost.
  await flush(directory);
  await database.root.close();
  return openDatabase(directory, database.damage);
}

function isMostlyFree(database: StoreDatabase): boolean {
  const { fileBytes, usedBytes } = sizeOf(database);
  return fileBytes - usedBytes >= FREE_BYTES_MIN && usedBytes <= fileBytes * USED_SHARE_MAX;
}

/** Flushes a rename or a file's content to the disk. */
async function flush(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
