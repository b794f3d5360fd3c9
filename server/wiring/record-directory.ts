/** Wiring of the recorder's directory: one process has it, and what is in it is read at the start. */
import { chmod, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Cleanup } from "../../storage/base/cleanup.js";
import type { Logger } from "../../storage/base/logger.js";
import { makeDirectory } from "../../storage/base/make-directory.js";
import { oneLine } from "../../storage/base/one-line.js";
import { StorageError } from "../../storage/kv/errors.js";
import type { Config } from "../config/config.js";
import { RecordDirectory } from "../recorder/record-directory.js";
import { type Restored, Restoring } from "../recorder/restored.js";

export interface OpenedRecordDirectory {
  readonly directory: RecordDirectory;
  readonly restored: Restored;
}

/**
 * A directory that cannot be used is told in the log, and tried again: nobody waits for it.
 * @returns undefined = records are in memory alone
 * @throws {Error} another process has the directory
 */
export async function openRecordDirectory(
  { record, recordBytes }: Config,
  logger: Logger,
  opened: Cleanup,
): Promise<OpenedRecordDirectory | undefined> {
  if (record === "" || record === "memory") return undefined;
  const directory = new RecordDirectory(record, recordBytes);
  const restoring = new Restoring();
  try {
    await makeDirectory(record, 0o700);
    await lock(record, opened);
    await directory.list();
    await directory.read(
      (text) => restoring.add(text),
      (error) => logger.warn({ reason: oneLine(error) }, "a file of --record cannot be read"),
    );
  } catch (error) {
    if (error instanceof StorageError) {
      throw new Error(`--record: ${record} has the records of another process that runs`);
    }
    logger.warn(
      { reason: oneLine(error), directory: record },
      "the directory of --record cannot be read",
    );
  }
  const restored = restoring.end();
  const { writes, damaged } = restored;
  if (damaged > 0) {
    logger.info(
      { damaged, writes: writes.length },
      "damaged lines in files of --record are left out",
    );
  }
  return { directory, restored };
}

/** @throws {StorageError} Refused */
async function lock(path: string, opened: Cleanup): Promise<void> {
  const { lockDirectory } = await import("../../storage/embedded/directory-lock.js");
  const held = await lockDirectory(path);
  opened.defer(() => held.release(), "the lock of the record");
  const names = await readdir(path);
  await Promise.all(
    names
      .filter((name) => name.startsWith("owner.mdb"))
      .map((name) => chmod(join(path, name), 0o600)),
  );
}
