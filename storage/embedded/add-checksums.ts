/**
 * Gives the records of a store of format 1 their checksums, when the store is opened. Chunk by chunk, each one
 * transaction that also says how far it has come, so that a crash costs nothing and the next start goes on. The
 * first one raises the format, so that an older program refuses what is half converted.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "../base/logger.js";
import {
  FORMAT_VERSION,
  FORMAT_WITHOUT_CHECKSUMS,
  formatOf,
  historyKey,
  putFact,
  type StoreDatabase,
} from "./database.js";
import {
  type HistoryKey,
  plainNumber,
  type SealedTable,
  toPlainNumber,
  withChecksum,
} from "./records.js";

/** Records of one transaction: about 10 ms of work. */
const CHUNK_RECORDS = 1000;
const TABLES: readonly SealedTable[] = ["current", "history", "log", "leases"];

type Key = string | number | HistoryKey;

/** The last record that has its checksum. */
interface Progress {
  readonly table: SealedTable;
  readonly key?: Key;
}

/** A table, whatever its keys are. */
interface AnyTable {
  getRange(options: object): Iterable<{ key: Key; value: Buffer }>;
  putSync(key: Key, value: Buffer): unknown;
}

export async function addChecksums(database: StoreDatabase, logger: Logger): Promise<void> {
  let progress = readProgress(database);
  if (progress === undefined) return;
  logger.info({}, "the embedded store was written before records had checksums: adding them");
  while (progress !== undefined) {
    progress = convertChunk(database, progress);
    await nextTurn();
  }
  logger.info({}, "every record of the embedded store has a checksum now");
}

/** undefined: every record has its checksum. */
function readProgress(database: StoreDatabase): Progress | undefined {
  const text = database.root.get("checksums")?.toString("utf8");
  if (text !== undefined) return JSON.parse(text) as Progress;
  return formatOf(database) === FORMAT_WITHOUT_CHECKSUMS ? { table: "current" } : undefined;
}

/** @returns undefined: that was the last one */
function convertChunk(database: StoreDatabase, progress: Progress): Progress | undefined {
  const { root } = database;
  return root.transactionSync(() => {
    const { table, key: last } = progress;
    root.putSync("format", toPlainNumber(FORMAT_VERSION));
    const records = database[table] as unknown as AnyTable;
    const start = last === undefined ? firstKey(table) : last;
    const range = records.getRange({ start, limit: CHUNK_RECORDS + 1 });
    const chunk = [...range].filter(({ key }) => !isSame(key, last));
    for (const { key, value } of chunk) records.putSync(key, withChecksum(table, key, value));
    const next =
      chunk.length < CHUNK_RECORDS ? nextTable(table) : { table, key: chunk.at(-1)?.key };
    if (next !== undefined) root.putSync("checksums", Buffer.from(JSON.stringify(next)));
    else finish(database);
    return next as Progress | undefined;
  });
}

function firstKey(table: SealedTable): unknown {
  if (table === "current") return Buffer.of(1);
  return table === "history" ? historyKey(Buffer.of(1)) : 0;
}

function isSame(key: Key, last: Key | undefined): boolean {
  return last !== undefined && JSON.stringify(key) === JSON.stringify(last);
}

function nextTable(table: SealedTable): Progress | undefined {
  const next = TABLES[TABLES.indexOf(table) + 1];
  return next && { table: next };
}

function finish(database: StoreDatabase): void {
  const { root } = database;
  for (const name of ["revision", "compacted"] as const) {
    const value = root.get(name);
    if (value !== undefined) putFact(database, name, plainNumber(value));
  }
  root.removeSync("checksums");
}
