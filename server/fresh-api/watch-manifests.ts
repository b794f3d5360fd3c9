/**
 * Watching of manifests: files and folders are looked at regularly, because not every file system tells of changes, and
 * applied again when one of them has another time or size, or there is one more or less. What is wrong is told and
 * changes nothing; the next change is another try. What the files do not have any more stays.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../storage/base/logger.js";
import type { AdminAccess } from "./access.js";
import { applyManifests, linesOf } from "./apply-manifests.js";
import { readManifests } from "./manifests.js";

export interface WatchedManifests {
  /** Files and folders. */
  readonly paths: readonly string[];
  readonly access: AdminAccess;
  readonly logger: Logger;
}

const LOOK_MS = 500;
/** What waits for something that never comes must not keep later changes waiting for long. */
const APPLY_MS = 10_000;

/** As they are now. Taken before they are read, so that no change is missed. */
export async function signatureOf(paths: readonly string[]): Promise<string> {
  const parts = await Promise.all(paths.map((path) => partsOf(path)));
  return parts.flat().join("\n");
}

/** Runs until the signal aborts. @param applied the signature of what has been applied */
export async function watchManifests(
  { paths, access, logger }: WatchedManifests,
  applied: string,
  signal: AbortSignal,
): Promise<void> {
  let known = applied;
  while (!signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    const now = await signatureOf(paths);
    if (now === known) continue;
    known = now;
    try {
      const objects = await readManifests(paths);
      await applyManifests(objects, access, APPLY_MS);
      logger.info({ objects: objects.length }, "the manifests have changed and are applied");
    } catch (error) {
      if (signal.aborted) return;
      for (const line of linesOf(error)) logger.warn({}, line);
    }
  }
}

async function partsOf(path: string): Promise<string[]> {
  try {
    const found = await stat(path);
    if (!found.isDirectory()) return [`${path} ${found.mtimeMs} ${found.size}`];
    const names = (await readdir(path)).filter((name) => !name.startsWith("."));
    const parts = await Promise.all(names.sort().map((name) => partsOf(join(path, name))));
    return parts.flat();
  } catch {
    // Gone meanwhile, as while an editor saves it.
    return [`${path} gone`];
  }
}
