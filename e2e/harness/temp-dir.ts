/** Temporary folders of tests, below the system's own, gone when the test leaves its scope. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempDir extends AsyncDisposable {
  readonly path: string;
}

export async function makeTempDir(name: string): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), `keelson-${name}-`));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
