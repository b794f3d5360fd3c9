/** Temporary folders of tests, below the system's own, gone when the test leaves its scope or its process ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processEnds } from "../../server/fresh-api/process-ends.js";

const REMOVAL = { recursive: true, force: true, maxRetries: 3 } as const;

export interface TempDir extends AsyncDisposable {
  readonly path: string;
}

export async function makeTempDir(name: string): Promise<TempDir> {
  const path = mkdtempSync(join(tmpdir(), `keelson-${name}-`));
  const forget = processEnds.add(() => rmSync(path, REMOVAL));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, REMOVAL);
      forget();
    },
  };
}
