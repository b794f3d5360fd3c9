/**
 * AuditFile: audit events to a file, one a line. The file is turned over when it has
 * grown to its bound: it is renamed with the time in its name, old ones are removed by number and
 * age, and compressed if that is wanted. Without a bound it is only appended to, so that other
 * programs may turn it over by copying and truncating it.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { LineOutput } from "../../storage/base/line-output.js";
import type { AuditBackend, AuditLine } from "./audit-batch.js";

export interface AuditFileOptions {
  /** "-" = standard output. */
  readonly path: string;
  /** 0 = never turned over. */
  readonly bytesMax: number;
  /** Old files that are kept; 0 = all. */
  readonly backupsMax: number;
  /** How long old files are kept; 0 = for ever. */
  readonly ageMsMax: number;
  readonly compresses: boolean;
  readonly now: () => number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** In names of old files: audit-2030-01-02T03-04-05.006.log, as kube-apiserver's library writes them. */
const STAMP = /-(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3})$/;

export function daysToMs(days: number): number {
  return days * DAY_MS;
}

/** @throws {Error} of the file system, when the file cannot be opened for writing */
export async function openAuditFile(options: AuditFileOptions): Promise<AuditBackend> {
  return options.path === "-" ? standardOutput() : await AuditFile.open(options);
}

function standardOutput(): AuditBackend {
  const output = new LineOutput(1, () => process.stdout);
  return {
    name: "log",
    send: (lines) => output.send(`${lines.join("\n")}\n`),
    async [Symbol.asyncDispose]() {},
  };
}

class AuditFile implements AuditBackend {
  readonly name = "log";
  readonly #options: AuditFileOptions;
  #file: FileHandle;
  #bytes: number;
  /** The file ends within a line. */
  #isTorn = false;
  /** Compression and removal of old files; one at a time. */
  #tidying: Promise<void> = Promise.resolve();

  private constructor(options: AuditFileOptions, file: FileHandle, bytes: number) {
    this.#options = options;
    this.#file = file;
    this.#bytes = bytes;
  }

  static async open(options: AuditFileOptions): Promise<AuditFile> {
    const file = await open(options.path, "a", 0o600);
    const { size } = await file.stat();
    return new AuditFile(options, file, size);
  }

  async send(lines: readonly AuditLine[]): Promise<void> {
    const text = Buffer.from(`${this.#isTorn ? "\n" : ""}${lines.join("\n")}\n`);
    const { bytesMax } = this.#options;
    if (bytesMax > 0 && this.#bytes > 0 && this.#bytes + text.length > bytesMax) {
      // Where no new file can be made the old one goes on; it is tried again with what comes next.
      await this.#turnOver().catch(() => {});
    }
    // A full disk may take a part of it.
    this.#isTorn = true;
    await this.#file.appendFile(text);
    this.#isTorn = false;
    this.#bytes += text.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    await this.#tidying;
  }

  async #turnOver(): Promise<void> {
    const { path, now } = this.#options;
    const extension = extname(path);
    const stem = path.slice(0, path.length - extension.length);
    const stamp = new Date(now()).toISOString().replace("Z", "").replaceAll(":", "-");
    // Gone already where a new file could not be opened the last time.
    await rename(path, `${stem}-${stamp}${extension}`).catch(unlessGone);
    const next = await open(path, "a", 0o600);
    await this.#file.close();
    this.#file = next;
    this.#bytes = 0;
    this.#tidying = this.#tidying.then(() => this.#tidy(stem, extension)).catch(() => {});
  }

  /** Never fails a write: what could not be tidied is looked at when the file is turned over next. */
  async #tidy(stem: string, extension: string): Promise<void> {
    const { backupsMax, ageMsMax, compresses, now } = this.#options;
    const folder = dirname(stem);
    const old = (await readdir(folder))
      .filter((name) => isBackup(name, basename(stem), extension))
      .sort()
      .reverse();
    for (const [index, name] of old.entries()) {
      const path = join(folder, name);
      const isTooMany = backupsMax > 0 && index >= backupsMax;
      const isTooOld = ageMsMax > 0 && now() - stampOf(name) > ageMsMax;
      if (isTooMany || isTooOld) await rm(path, { force: true });
      else if (compresses && !name.endsWith(".gz")) await compress(path);
    }
  }
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

function isBackup(name: string, stem: string, extension: string): boolean {
  const plain = plainName(name);
  if (!plain.startsWith(`${stem}-`) || !plain.endsWith(extension)) return false;
  return STAMP.test(plain.slice(0, plain.length - extension.length));
}

/** When a backup was made, by its name: copies and compressed files have other times. */
function stampOf(name: string): number {
  const plain = plainName(name);
  const [, stamp = ""] = STAMP.exec(plain.slice(0, plain.length - extname(plain).length)) ?? [];
  return Date.parse(stamp.replace(/T(\d\d)-(\d\d)-/, "T$1:$2:").concat("Z"));
}

function plainName(name: string): string {
  return name.endsWith(".gz") ? name.slice(0, -3) : name;
}

async function compress(path: string): Promise<void> {
  const target = createWriteStream(`${path}.gz`, { mode: 0o600 });
  await pipeline(createReadStream(path), createGzip(), target);
  await rm(path);
}
