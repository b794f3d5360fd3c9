/**
 * AuditLog: audit events to a file, one JSON object a line, in the order in which they happened. The
 * file is appended to, so that rotation may copy and truncate it. What waits for the disk is bounded:
 * beyond it events are dropped and counted, as requests must not wait for a log.
 */
import { open } from "node:fs/promises";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";

/** Events that wait for the disk, about 1 KiB each. */
const WAITING_CHARS_MAX = 16 * 1024 * 1024;

/** Where the lines go. */
export interface AuditTarget {
  /** Rejects when they could not be written, or not all of them. */
  append(lines: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param path "-" = standard output
 * @throws {Error} of the file system, when the file cannot be opened for writing
 */
export async function openAuditTarget(path: string): Promise<AuditTarget> {
  if (path === "-") {
    return {
      append: (lines) => new Promise((resolve) => process.stdout.write(lines, () => resolve())),
      async close() {},
    };
  }
  const file = await open(path, "a", 0o600);
  return { append: (lines) => file.appendFile(lines), close: () => file.close() };
}

export interface AuditLogOptions {
  readonly target: AuditTarget;
  readonly logger: Logger;
  /** Told of each event that is made, and of each that is dropped. */
  readonly onEvent: (isDropped: boolean) => void;
}

export class AuditLog implements AsyncDisposable {
  readonly #options: AuditLogOptions;
  #waiting: string[] = [];
  /** Of what waits and of what is being written. */
  #waitingChars = 0;
  #flushing: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  write(event: Readonly<Record<string, unknown>>): void {
    const isDropped = this.#waitingChars > WAITING_CHARS_MAX;
    this.#options.onEvent(isDropped);
    if (isDropped) return;
    const line = `${JSON.stringify(event)}\n`;
    this.#waiting.push(line);
    this.#waitingChars += line.length;
    this.#flushing ??= this.#flush();
  }

  /** Resolves when everything is written. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#flushing;
    await this.#options.target.close();
  }

  /** Writes until nothing waits; what comes meanwhile is written together, next. */
  async #flush(): Promise<void> {
    const { target, logger, onEvent } = this.#options;
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      const text = lines.join("");
      this.#waiting = [];
      try {
        await target.append(text);
        this.#isFailing = false;
      } catch (error) {
        // Dropped, not repeated: part of it may be there. The next ones find a disk with room again.
        for (const _line of lines) onEvent(true);
        if (!this.#isFailing)
          logger.error({ err: oneLine(error) }, "the audit log cannot be written");
        this.#isFailing = true;
      }
      this.#waitingChars -= text.length;
    }
    this.#flushing = undefined;
  }
}
