/**
 * runFileWatch: calls back when one of some files has changed, so that certificates are replaced
 * without a restart. It compares contents at an interval: change notifications get lost on network
 * file systems and behind the symbolic links through which clusters mount secrets.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Clock, runAtIntervals } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";

/** Files are small and mostly in memory, so a second costs nothing that shows. */
const CHECK_INTERVAL_MS = 1_000;

const MISSING = Object.assign(new Error(), { code: "ENOENT" });

export interface FileWatchOptions {
  readonly files: readonly string[];
  /** What is in force, in the order of `files`: what has changed since it was read is applied, too. Undefined: there was no such file. */
  readonly inForce: readonly (string | undefined)[];
  /** Applies the new contents, in the order of `files`. If it throws, the old ones stay in use. */
  readonly apply: (contents: readonly string[]) => void | Promise<void>;
  /** Called for each change with its result, for a metric. */
  readonly onReload?: (isGood: boolean) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly intervalMs?: number;
  /** In tests: reads a file. */
  readonly read?: (file: string) => Promise<Buffer>;
}

/** Runs until `signal` aborts. */
export async function runFileWatch(options: FileWatchOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, inForce, intervalMs = CHECK_INTERVAL_MS } = options;
  let last = fingerprint(inForce.map((text) => (text === undefined ? MISSING : Buffer.from(text))));
  const check = async () => {
    const read = await readAll(options);
    const current = fingerprint(read);
    if (current === last) return;
    // Of files that are replaced between two of our reads nobody has meant the mixture: the next check has all of them.
    if (options.files.length > 1 && fingerprint(await readAll(options)) !== current) return;
    last = current;
    await applyOnce(options, read, logger);
  };
  await runAtIntervals({ clock, intervalMs }, check, signal);
}

async function applyOnce(
  { files, apply, onReload }: FileWatchOptions,
  read: readonly (Buffer | Error)[],
  logger: Logger,
): Promise<void> {
  try {
    await apply(read.map(textOf));
    logger.info({ files }, "changed files are in use");
    onReload?.(true);
  } catch (error) {
    logger.error(
      { files, err: oneLine(error) },
      "changed files are not usable; the last good ones stay",
    );
    onReload?.(false);
  }
}

/** Each check reads the files once, so that the contents it compares are the contents that are applied. */
async function readAll({
  files,
  read = (file) => readFile(file),
}: FileWatchOptions): Promise<(Buffer | Error)[]> {
  const contents: (Buffer | Error)[] = [];
  for (const file of files) contents.push(await read(file).catch((error: Error) => error));
  return contents;
}

/** @throws {Error} of the file system; or it is empty, as it is while somebody writes it, which to no flag means anything */
function textOf(content: Buffer | Error): string {
  if (content instanceof Error) throw content;
  const text = content.toString("utf8");
  if (text.trim() === "") throw new Error("a file is empty");
  return text;
}

function fingerprint(read: readonly (Buffer | Error)[]): string {
  const hash = createHash("sha256");
  for (const content of read) {
    const { code } = content as NodeJS.ErrnoException;
    hash.update(content instanceof Error ? `missing: ${code}` : content);
    hash.update("\0");
  }
  return hash.digest("hex");
}
