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

export interface FileWatchOptions {
  readonly files: readonly string[];
  /** Applies the new contents, in the order of `files`. If it throws, the old ones stay in use. */
  readonly apply: (contents: readonly string[]) => void | Promise<void>;
  /** Called for each change with its result, for a metric. */
  readonly onReload?: (isGood: boolean) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly intervalMs?: number;
}

/** Runs until `signal` aborts. The initial contents count as applied. */
export async function runFileWatch(options: FileWatchOptions, signal: AbortSignal): Promise<void> {
  const { files, clock, logger, intervalMs = CHECK_INTERVAL_MS } = options;
  let last = await fingerprint(files);
  const check = async () => {
    const current = await fingerprint(files);
    if (current === last) return;
    last = current;
    await applyOnce(options, logger);
  };
  await runAtIntervals({ clock, intervalMs }, check, signal);
}

async function applyOnce(
  { files, apply, onReload }: FileWatchOptions,
  logger: Logger,
): Promise<void> {
  try {
    await apply(await Promise.all(files.map((file) => readFile(file, "utf8"))));
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

async function fingerprint(files: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) {
    try {
      hash.update(await readFile(file));
    } catch (error) {
      hash.update(`missing: ${(error as NodeJS.ErrnoException).code}`);
    }
    hash.update("\0");
  }
  return hash.digest("hex");
}
