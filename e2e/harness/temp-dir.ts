/** Temporary folders of tests, below the system's own, gone when the test leaves its scope or its process ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processEnds } from "../../server/fresh-api/process-ends.js";

const REMOVAL = { recursive: true, force: true, maxRetries: 3 } as const;

export interface TempDir extends AsyncDisposable {
  readonly path: string;
  /** Writes a file in it. @returns its path */
  write(name: string, content: string | Buffer): Promise<string>;
}

export async function makeTempDir(name: string): Promise<TempDir> {
  const path = mkdtempSync(join(tmpdir(), `keelson-${name}-`));
  const forget = processEnds.add(() => rmSync(path, REMOVAL));
  return {
    path,
    async write(name, content) {
      await writeFile(join(path, name), content);
      return join(path, name);
    },
    async [Symbol.asyncDispose]() {
      await rm(path, REMOVAL);
      forget();
    },
  };
}
