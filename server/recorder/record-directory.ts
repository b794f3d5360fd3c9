/**
 * RecordDirectory: files of lines in a directory, of which the oldest goes when all together reach their bound. Names
 * count up. What is written goes to a place in a file, so that a write that failed in its middle is overwritten by
 * the next one. Files are for their owner alone.
 */
import { type FileHandle, open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "../../storage/base/make-directory.js";

/** So many full files; each has an equal part of the bound. */
const PARTS = 8;
/** Each start begins one. */
const FILES_MAX = 100;
const NAME = /^(\d{10})\.records$/;

interface KnownFile {
  readonly number: number;
  readonly path: string;
  bytes: number;
}

export class RecordDirectory implements AsyncDisposable {
  readonly #path: string;
  readonly #bytesMax: number;
  /** The oldest first; the last one may be open. */
  #files: KnownFile[] = [];
  #open: FileHandle | undefined;
  #isListed = false;

  /** @param bytesMax of all files together */
  constructor(path: string, bytesMax: number) {
    this.#path = path;
    this.#bytesMax = bytesMax;
  }

  /** Of all files. */
  get bytes(): number {
    return this.#files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Whether another file is to begin: none is open, or it has hardly any room. */
  get isFull(): boolean {
    return this.#open === undefined || this.roomBytes < this.#fileBytesMax / PARTS;
  }

  /** Whether nothing is in the file that is open. */
  get isEmpty(): boolean {
    return this.#files.at(-1)?.bytes === 0;
  }

  /** What is left in the file that is open. */
  get roomBytes(): number {
    return Math.max(0, this.#fileBytesMax - (this.#files.at(-1)?.bytes ?? 0));
  }

  /** Together they stay below the bound, although a file ends with the record that reaches its own. */
  get #fileBytesMax(): number {
    return Math.floor(this.#bytesMax / (PARTS + 1));
  }

  /** Finds the files that are there, and makes the directory if it is not. @throws {Error} of the file system, as all here */
  async list(): Promise<void> {
    await makeDirectory(this.#path, 0o700);
    const names = (await readdir(this.#path)).filter((name) => NAME.test(name)).sort();
    this.#files = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#path, name);
        return { number: Number(NAME.exec(name)?.[1]), path, bytes: (await stat(path)).size };
      }),
    );
    this.#isListed = true;
  }

  /** Reads each file, the oldest first. @param unreadable one that is left out */
  async read(take: (text: string) => void, unreadable: (error: unknown) => void): Promise<void> {
    for (const { path, bytes } of this.#files) {
      try {
        // Nothing here writes larger ones.
        if (bytes <= this.#bytesMax) take(await readFile(path, "utf8"));
      } catch (error) {
        unreadable(error);
      }
    }
  }

  /** Begins another file, and removes old ones to make room. */
  async begin(): Promise<void> {
    await this.close();
    if (!this.#isListed) await this.list();
    await this.#makeRoom();
    const number = (this.#files.at(-1)?.number ?? 0) + 1;
    const path = join(this.#path, `${String(number).padStart(10, "0")}.records`);
    this.#open = await open(path, "wx", 0o600);
    this.#files.push({ number, path, bytes: 0 });
  }

  /** Of what fails nothing counts, and the next text stands in its place. */
  async append(text: string): Promise<void> {
    const file = this.#files.at(-1);
    if (this.#open === undefined || file === undefined) throw new Error("no file is open");
    const bytes = Buffer.from(text);
    let written = 0;
    while (written < bytes.length) {
      const rest = bytes.length - written;
      const at = file.bytes + written;
      const { bytesWritten } = await this.#open.write(bytes, written, rest, at);
      if (bytesWritten === 0) throw new Error("the file takes nothing");
      written += bytesWritten;
    }
    file.bytes += bytes.length;
  }

  /** Of the file that is open. Never rejects. */
  async close(): Promise<void> {
    const handle = this.#open;
    this.#open = undefined;
    await handle?.close().catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** For one more file. */
  async #makeRoom(): Promise<void> {
    while (this.#files.length >= FILES_MAX || this.bytes + this.#fileBytesMax > this.#bytesMax) {
      const [oldest] = this.#files;
      if (oldest === undefined) return;
      await unlink(oldest.path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
      this.#files.shift();
    }
  }
}
