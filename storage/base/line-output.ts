/**
 * LineOutput: lines to standard output or standard error that never end or hold up the process. What cannot be
 * written, on a full disk, a closed pipe or one that nobody reads, is dropped and counted.
 *
 * A file or device is written at once, so that the last words of a process are there; where the disk is full the
 * next line may find room again. Pipes, sockets and terminals go through Node.js's stream, which waits in memory.
 */
import { fstatSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";
import { isatty } from "node:tty";

/** What may wait for a reader that is slow, about a second of a log at its most talkative. */
const WAITING_BYTES_MAX = 1024 * 1024;
/** A reader that takes nothing for so long has failed, as far as `send` is concerned. */
const SEND_MS_MAX = 2_000;

export class LineOutput {
  readonly #fd: number;
  /** Undefined: the descriptor is written directly. */
  readonly #stream: Writable | undefined;
  #dropped = 0;
  /** The last line was written in part, as the disk became full in its midst. */
  #isTorn = false;
  /** A reader has kept `send` waiting for too long, and has not read those lines since. */
  #isStalled = false;

  /** @param openStream Node.js's stream of this descriptor, process.stderr for 2 */
  constructor(fd: number, openStream: () => Writable) {
    this.#fd = fd;
    const stats = fstatSync(fd);
    const isDirect = stats.isFile() || (stats.isCharacterDevice() && !isatty(fd));
    this.#stream = isDirect ? undefined : openStream();
    // A closed pipe destroys the stream, and every later line is counted.
    this.#stream?.on("error", () => {});
  }

  /** How many lines were dropped. */
  get droppedLines(): number {
    return this.#dropped;
  }

  /** Writes whole lines, or drops them; never throws and never waits. */
  write(lines: string): void {
    if (this.#stream === undefined) {
      if (this.#writeNow(lines) !== undefined) this.#dropped++;
    } else if (this.#isStuck(this.#stream)) this.#dropped++;
    else {
      this.#stream.write(lines, (error) => {
        if (error) this.#dropped++;
      });
    }
  }

  /** Resolves when the lines have been handed over. @throws {Error} when they cannot be */
  async send(lines: string): Promise<void> {
    const stream = this.#stream;
    if (stream === undefined) {
      const failure = this.#writeNow(lines);
      if (failure !== undefined) throw failure;
      return;
    }
    // At once: whoever sends would wait as long again with each line.
    if (this.#isStalled || this.#isStuck(stream)) throw new Error("nobody reads this output");
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#isStalled = true;
        reject(new Error(`nobody has read this output for ${SEND_MS_MAX} ms`));
      }, SEND_MS_MAX);
      stream.write(lines, (error) => {
        clearTimeout(timer);
        this.#isStalled = false;
        if (error) reject(error);
        else resolve();
      });
    });
  }

  #isStuck(stream: Writable): boolean {
    return stream.destroyed || stream.writableLength >= WAITING_BYTES_MAX;
  }

  /** @returns why not all of it was written */
  #writeNow(lines: string): Error | undefined {
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written);
      this.#isTorn = false;
      return undefined;
    } catch (error) {
      if (written > 0) this.#isTorn = true;
      return error as Error;
    }
  }
}
