/** The program of a server process, in both of its forms. */
import { join } from "node:path";
import { repositoryRoot } from "../tools/find-tool.js";

const DIST = join(repositoryRoot(), "dist");

/** The bundled command, which people run. */
export const COMMAND = join(DIST, "bundle", "main.js");

/** The same of a thousand modules: what a preload changes in one of them, the server uses. */
export const COMMAND_OF_MODULES = join(DIST, "server", "main.js");
