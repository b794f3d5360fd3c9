/** Packages of the npm registry that carry definitions, got by npm at test time. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Unpacks the newest version below `folder` and gives its path. @throws {Error} it is not to be had */
export async function unpackPackage(name: string, folder: string): Promise<string> {
  const run = promisify(execFile);
  const { stdout } = await run("npm", ["pack", "--silent", name], { cwd: folder });
  await run("tar", ["-xzf", stdout.trim().split("\n").at(-1) ?? ""], { cwd: folder });
  return join(folder, "package");
}
