/** The program of a server process, in both of its forms. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../tools/find-tool.js";

const DIST = join(repositoryRoot(), "dist");

/** The bundled command, which people run. */
export const COMMAND = join(DIST, "bundle", "main.js");

/** The same of a thousand modules: what a preload changes in one of them, the server uses. */
export const COMMAND_OF_MODULES = join(DIST, "server", "main.js");

/** What the command's first line and the image set for memory, for measurements of what people run. */
export function shippedStart(): {
  readonly nodeFlags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
} {
  const [firstLine = ""] = readFileSync(COMMAND, "utf8").split("\n", 1);
  const image = readFileSync(join(repositoryRoot(), "deploy", "Dockerfile"), "utf8");
  const set = image.matchAll(/\b(MALLOC_\w+)=(\d+)/g);
  return {
    nodeFlags: firstLine.split(" ").filter((word) => word.startsWith("--")),
    environment: Object.fromEntries([...set].map(([, name = "", value = ""]) => [name, value])),
  };
}
