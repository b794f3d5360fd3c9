/** The program of a server process, in both of its forms. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findTool, repositoryRoot } from "../tools/find-tool.js";

const DIST = join(repositoryRoot(), "dist");

/** The bundled command, which people run. */
export const COMMAND = join(DIST, "bundle", "main.js");

/** The same of a thousand modules: what a preload changes in one of them, the server uses. */
export const COMMAND_OF_MODULES = join(DIST, "server", "main.js");

/** Options of Node.js that the command's first line has, for measurements of what people run. */
export function shippedNodeFlags(command = COMMAND): readonly string[] {
  const [firstLine = ""] = readFileSync(command, "utf8").split("\n", 1);
  return firstLine.split(" ").filter((word) => word.startsWith("--"));
}

/** The image's allocator and its settings, for the same; none where the allocator is not to be had. */
export async function shippedEnvironment(): Promise<Readonly<Record<string, string>>> {
  const image = readFileSync(join(repositoryRoot(), "deploy", "Dockerfile"), "utf8");
  const [, settings] = /^ENV LD_PRELOAD=libjemalloc\.so\.2 MALLOC_CONF=(\S+)$/m.exec(image) ?? [];
  if (settings === undefined)
    throw new Error("deploy/Dockerfile does not set LD_PRELOAD and MALLOC_CONF");
  const library = await findTool("jemalloc");
  return library === undefined ? {} : { LD_PRELOAD: library, MALLOC_CONF: settings };
}
