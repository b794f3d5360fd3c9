/** A directory for one test, which removes it at its end. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export async function temporaryDirectory(test: Pick<TestContext, "after">): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-test-"));
  test.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
