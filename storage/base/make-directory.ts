/**
 * Makes a directory and the ones above it. Node.js's own `mkdir` with `recursive` never ends where a file system
 * says that the parent of a new directory does not exist although it does, as /proc does.
 */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** @throws {Error} of the file system, for the first directory that cannot be made */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (await isDirectory(path)) return;
    const parent = dirname(path);
    const isOrphan = (error as NodeJS.ErrnoException).code === "ENOENT" && parent !== path;
    if (!isOrphan || (await isDirectory(parent))) throw error;
    await makeDirectory(parent, mode);
    await mkdir(path, { mode });
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
