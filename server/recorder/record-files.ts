/**
 * RecordFiles: carries what a recorder holds to its directory, a few times a second, behind the requests. It takes
 * from the recorder's memory, so no write waits for a disk: what leaves the memory before the disk took it is
 * dropped, and counted. Nothing is synced: what a killed process wrote is there, the last moment before it is not.
 */
import type { Clock } from "../../storage/base/clock.js";
import { isOverWithin } from "../../storage/base/is-over-within.js";
import type { Logger } from "../../storage/base/logger.js";
import { nextTurn } from "../../storage/base/next-turn.js";
import { oneLine } from "../../storage/base/one-line.js";
import { type Cursor, cursorOf, RecordBatches, type RecordSource } from "./record-batch.js";
import type { RecordDirectory } from "./record-directory.js";
import { FORM, toLine } from "./record-lines.js";

export interface RecordFilesParts {
  readonly directory: RecordDirectory;
  readonly source: RecordSource;
  readonly replica: string;
  /** The store that revisions are of. */
  readonly store: string;
  /** What came before it needs no line: it is in files already. */
  readonly from: Cursor;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PAUSE_MS = 200;
const FAILED_PAUSE_MS = 1_000;
/** For the last pass of a process that ends. */
const LAST_MS = 2_000;
const BATCH_CHARS_MAX = 1024 * 1024;

export class RecordFiles {
  readonly #parts: RecordFilesParts;
  readonly #batches: RecordBatches;
  #cursor: Cursor;
  #dropped = 0;
  #failures = 0;
  #isFailing = false;

  constructor(parts: RecordFilesParts) {
    this.#parts = parts;
    this.#batches = new RecordBatches(parts.source);
    this.#cursor = parts.from;
  }

  /** Records that no file has, and none will have. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Passes that a disk ended: full, away or broken. */
  get failures(): number {
    return this.#failures;
  }

  /** Until the signal, and one pass behind it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, directory } = this.#parts;
    while (!signal.aborted) {
      await this.pass();
      const pauseMs = this.#isFailing ? FAILED_PAUSE_MS : PAUSE_MS;
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
    const last = this.pass().then(() => directory.close());
    await isOverWithin(last, LAST_MS, clock);
  }

  /** Writes what has come. Never rejects: what fails is tried again by the next one. */
  async pass(): Promise<void> {
    try {
      while (await this.#writeNext()) await nextTurn();
      this.#note(undefined);
    } catch (error) {
      this.#batches.reset();
      this.#note(error);
    }
  }

  /** @returns whether there was something */
  async #writeNext(): Promise<boolean> {
    const { directory, replica, store } = this.#parts;
    if (directory.isFull) {
      // Nobody begins a file for nothing.
      if (!this.#hasMore()) return false;
      await directory.begin();
      this.#batches.reset();
    }
    const head = directory.isEmpty ? toLine({ of: "file", form: FORM, replica, store }) : "";
    const charsMax = Math.min(BATCH_CHARS_MAX, directory.roomBytes);
    const { text, dropped, next } = this.#batches.next(this.#cursor, charsMax);
    if (text !== "") await directory.append(head + text);
    this.#dropped += dropped;
    this.#cursor = next;
    return text !== "" || dropped > 0;
  }

  #hasMore(): boolean {
    const now = cursorOf(this.#parts.source);
    const { writes, reads, deliveries } = this.#cursor;
    return now.writes > writes || now.reads > reads || now.deliveries > deliveries;
  }

  /** The first failure and the end of failures are told, not those between. */
  #note(error: unknown): void {
    const { logger } = this.#parts;
    if (error === undefined && this.#isFailing) {
      logger.info({ dropped: this.#dropped }, "the directory of --record takes records again");
    } else if (error !== undefined && !this.#isFailing) {
      const reason = oneLine(error);
      logger.warn(
        { reason },
        "the directory of --record takes no records: they stay in memory as long as there is room",
      );
    }
    this.#isFailing = error !== undefined;
    if (this.#isFailing) this.#failures++;
  }
}
