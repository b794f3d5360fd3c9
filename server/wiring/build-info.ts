/** The version of this build, read from package.json, which ships with the program. */
import { readFileSync } from "node:fs";
import type { BuildInfo } from "../endpoints/discovery/version.js";

/** From the emitted dist/server/wiring/build-info.js. */
const PACKAGE_FILE = new URL("../../../package.json", import.meta.url);

export function readBuildInfo(environment: NodeJS.ProcessEnv): BuildInfo {
  const { version } = JSON.parse(readFileSync(PACKAGE_FILE, "utf8")) as { version: string };
  return {
    version,
    commit: environment.KEELSON_COMMIT ?? "",
    buildDate: environment.KEELSON_BUILD_DATE ?? "",
  };
}
