/**
 * StoreSpace: how much room the embedded store has. Two bounds: the quota on what the store holds, and the disk.
 * Beyond either, writes are refused with the reason; reads go on, and so does what makes room: transactions that
 * delete something, ends of leases, compaction. There is no switch to turn back: writes go on as soon as there is room.
 *
 * Deletes need pages as well, for the history that they begin and the tables' changed pages. Under the quota the
 * disk has them. For a full disk there is a reserve, a file beside the store that is given up when a delete finds
 * no room, and made again once the disk has plenty. (A hole kept in the store's own file would do as well, but any
 * write could take it, and nobody would see it.)
 */
import { randomBytes } from "node:crypto";
import { existsSync, rmSync, statfsSync, statSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import type { StoreDatabase } from "./database.js";
import { type StoreSize, sizeOf } from "./store-size.js";

/** Two deletions of the largest values, with the tables' pages. */
const RESERVE_BYTES = 4 * 1024 * 1024;
/** A smaller disk gives this part of what it has left. */
const RESERVE_SHARE = 1 / 8;
/** Less is no reserve. */
const RESERVE_BYTES_MIN = 256 * 1024;
/** How often a reserve that is missing is looked after. */
const RESERVE_INTERVAL_MS = 30_000;
/** lmdb reports a page that was written in part as an I/O error; with less room than this it is a full disk. */
const FULL_BYTES = 1024 * 1024;
/** The size is measured anew when so much has been written, or always above this share of the quota. */
const MEASURE_BYTES = 1024 * 1024;
const NEAR_SHARE = 0.9;
/** Below it there is room again; small writes may fit before. */
const ROOM_SHARE = 0.95;

/** Why writes are refused; "none" = they are not. */
export type SpaceShortage = "none" | "quota" | "disk";

export interface StoreSpaceOptions {
  readonly directory: string;
  readonly database: StoreDatabase;
  /** Bytes of pages in use; 0 = no bound. */
  readonly quotaBytes: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * lmdb maps the files of its locks into memory before they have room on the disk, where a write to them ends the process.
 * @throws {StorageError} NoSpace: the directory is new, and its disk full
 */
export function requireRoom(directory: string): void {
  const isNew = !existsSync(join(directory, "store.mdb-lock"));
  if (!isNew || leftBytes(directory) >= FULL_BYTES) return;
  throw new StorageError("NoSpace", `the disk is full: no store can be made in ${directory}`);
}

function leftBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    // Not every file system tells.
    return Number.POSITIVE_INFINITY;
  }
}

export class StoreSpace {
  readonly quotaBytes: number;
  readonly #options: StoreSpaceOptions;
  readonly #reservePath: string;
  #size: StoreSize;
  #bytesSince = 0;
  #shortage: SpaceShortage = "none";

  constructor(options: StoreSpaceOptions) {
    this.#options = options;
    this.quotaBytes = options.quotaBytes;
    this.#reservePath = join(options.directory, "reserve");
    this.#size = sizeOf(options.database);
    const left = leftBytes(options.directory);
    if (left < FULL_BYTES) {
      const text = "the disk of the data directory is full: writes are refused until there is room";
      options.logger.warn({ directory: options.directory, leftBytes: left }, text);
      this.#shortage = "disk";
    }
  }

  get shortage(): SpaceShortage {
    return this.#shortage;
  }

  /** Measured anew; for metrics. */
  get size(): StoreSize {
    return sizeOf(this.#options.database);
  }

  /** The refusal of a write that makes no room, or undefined. */
  refusal(bytes: number): StorageError | undefined {
    const { quotaBytes } = this;
    if (quotaBytes === 0 || this.#size.usedBytes + bytes <= quotaBytes) return undefined;
    this.#enter("quota");
    return new StorageError(
      "NoSpace",
      `database space exceeded: ${this.#size.usedBytes} of ${quotaBytes} bytes are in use (--embedded-quota-bytes)`,
    );
  }

  /** A group was written. @param makesRoom whether it held nothing that needs room */
  noteWritten(bytes: number, makesRoom: boolean): void {
    this.#bytesSince += bytes;
    const isNear = this.#size.usedBytes > this.quotaBytes * NEAR_SHARE;
    if (isNear || this.#bytesSince > MEASURE_BYTES) {
      this.#size = sizeOf(this.#options.database);
      this.#bytesSince = 0;
    }
    if (this.#shortage === "none") return;
    const hasRoom =
      this.#shortage === "quota"
        ? this.#size.usedBytes < this.quotaBytes * ROOM_SHARE
        : !makesRoom && !this.isDiskFull();
    if (hasRoom) this.#leave();
  }

  /** Whether the disk has no room for what failed with this I/O error. */
  isDiskFull(): boolean {
    return leftBytes(this.#options.directory) < FULL_BYTES;
  }

  noteDiskFull(): void {
    this.#enter("disk");
  }

  /** Frees the reserve for what makes room. @returns false: there was none */
  giveUpReserve(): boolean {
    try {
      rmSync(this.#reservePath);
    } catch {
      return false;
    }
    this.#options.logger.warn({}, "the disk is full: the reserve for deletions is given up");
    return true;
  }

  /** Keeps the reserve until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#keepReserve();
      } catch (error) {
        logger.debug({ err: error }, "the reserve for deletions cannot be made");
      }
      await clock.sleep(RESERVE_INTERVAL_MS, signal).catch(() => {});
    }
  }

  async #keepReserve(): Promise<void> {
    if (statSync(this.#reservePath, { throwIfNoEntry: false }) !== undefined) return;
    const bytes = Math.min(
      RESERVE_BYTES,
      Math.floor(leftBytes(this.#options.directory) * RESERVE_SHARE),
    );
    if (bytes < RESERVE_BYTES_MIN) return;
    const draft = `${this.#reservePath}.new`;
    try {
      // Random, as some file systems store nothing for zeros.
      await writeFile(draft, randomBytes(bytes), { mode: 0o600 });
      await rename(draft, this.#reservePath);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  #enter(shortage: SpaceShortage): void {
    if (this.#shortage === shortage) return;
    this.#shortage = shortage;
    const why = shortage === "disk" ? "the disk is full" : "the store has reached its quota";
    const { usedBytes } = this.#size;
    const text = `${why}: writes are refused until there is room; reads and deletes go on`;
    this.#options.logger.error({ usedBytes, quotaBytes: this.quotaBytes }, text);
  }

  #leave(): void {
    this.#shortage = "none";
    this.#options.logger.info({}, "the store has room again");
  }
}
