/** An older commit of this repository, built from its history: what somebody has who upgrades. None where there is no history. */
import { execFile } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../tools/find-tool.js";
import { makeTempDir } from "./temp-dir.js";

const run = promisify(execFile);

export interface OlderBuild extends AsyncDisposable {
  readonly commit: string;
  /** With `dist/bundle/main.js` and `helm/keelson`. */
  readonly root: string;
}

/** The commit so many before this one; undefined in a tarball and in a clone that is too shallow. */
export async function findOlderCommit(before: number): Promise<string | undefined> {
  const args = ["rev-list", `--skip=${before}`, "--max-count=1", "HEAD"];
  const { stdout } = await run("git", args, { cwd: repositoryRoot() }).catch(() => ({
    stdout: "",
  }));
  return stdout.trim() || undefined;
}

/** Builds it with the modules that are installed here: half a minute. @throws {Error} it does not build */
export async function buildOlder(commit: string): Promise<OlderBuild> {
  const here = repositoryRoot();
  const folder = await makeTempDir("older");
  const script = 'git archive "$1" | tar -x -C "$2"';
  await run("sh", ["-c", script, "sh", commit, folder.path], { cwd: here });
  await symlink(join(here, "node_modules"), join(folder.path, "node_modules"));
  // As its own manifest says.
  await run("npm", ["run", "build", "--silent"], { cwd: folder.path });
  return { commit, root: folder.path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}
