/**
 * AuditLog: audit events to a file, one JSON object a line, in the order in which they happened. The
 * file is appended to, so that rotation may copy and truncate it. What waits for the disk is bounded:
 * beyond it events are dropped and counted, as requests must not wait for a log.
 */
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import type { Logger } from "../../storage/base/logger.js";

/** Events that wait for the disk, about 1 KiB each. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;

export interface AuditLogOptions {
  /** "-" = standard output. */
  readonly path: string;
  readonly logger: Logger;
  /** Told of each event, and whether it was dropped. */
  readonly onEvent: (isDropped: boolean) => void;
}

export class AuditLog implements AsyncDisposable {
  readonly #options: AuditLogOptions;
  readonly #stream: NodeJS.WritableStream & { readonly writableLength: number };
  #isBroken = false;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    if (options.path === "-") {
      this.#stream = process.stdout;
      return;
    }
    const file = createWriteStream(options.path, { flags: "a", mode: 0o600 });
    file.on("error", (error) => {
      this.#isBroken = true;
      options.logger.error({ err: error, file: options.path }, "the audit log cannot be written");
    });
    this.#stream = file;
  }

  write(event: Readonly<Record<string, unknown>>): void {
    const isDropped = this.#isBroken || this.#stream.writableLength > WAITING_BYTES_MAX;
    this.#options.onEvent(isDropped);
    if (!isDropped) this.#stream.write(`${JSON.stringify(event)}\n`);
  }

  /** Resolves when everything is written. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#options.path === "-" || this.#isBroken) return;
    this.#stream.end();
    await finished(this.#stream);
  }
}
