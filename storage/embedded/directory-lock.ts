/**
 * One process per data directory. The lock is a tiny lmdb environment in which the owner holds a
 * reader for its whole life: lmdb backs every reading process with a kernel lock, so a killed
 * process leaves nothing behind to clean up.
 *
 * Each opener registers its reader first and then counts: of two that open at the same moment at
 * least one sees the other. If both do, both refuse, and neither harms the data.
 */
import { join } from "node:path";
import { open } from "lmdb";
import { StorageError } from "../kv/errors.js";

export interface DirectoryLock {
  /** Whether a store has been made in this directory. */
  readonly hasStore: boolean;
  /** Remembers that. */
  noteStore(): void;
  release(): Promise<void>;
}

/** Present once there has been a store beside it. */
const STORE_FACT = "store";

/** Takes the lock, or fails with the process id of its owner. @throws {StorageError} Refused */
export async function lockDirectory(directory: string, isDurable = true): Promise<DirectoryLock> {
  const environment = open({
    path: join(directory, "owner.mdb"),
    encoding: "binary",
    overlappingSync: false,
    noSync: !isDurable,
    maxDbs: 1,
    maxReaders: 32,
  });
  const reader = environment.useReadTransaction();
  const release = async () => {
    reader.done();
    await environment.close();
  };
  environment.readerCheck();
  const owners = processesIn(environment.readerList());
  if (owners.length <= 1) {
    const hasStore = environment.get(STORE_FACT) !== undefined;
    const noteStore = () => void environment.putSync(STORE_FACT, Buffer.of(1));
    return { hasStore, noteStore, release };
  }

  await release();
  const others = owners.filter((owner) => owner !== process.pid);
  const owner = others.length > 0 ? `process ${others.join(", ")}` : "this process";
  throw new StorageError(
    "Refused",
    `the data directory ${directory} is in use by ${owner}; the embedded store serves one process`,
  );
}

/** Process ids in lmdb's reader table: a heading, then a line per reader that starts with its pid. */
function processesIn(readerList: string): number[] {
  return [...readerList.matchAll(/^\s*(\d+)\s/gm)].map((match) => Number(match[1]));
}
