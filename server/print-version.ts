/** What `keelson --version` prints. A script of its own in the bundle, as whoever only asks for it does not wait for the rest. */
import { formatApiVersion } from "./endpoints/discovery/version.js";
import { readBuildInfo } from "./wiring/build-info.js";

export function printVersion(): void {
  const build = readBuildInfo(process.env);
  process.stdout.write(`keelson ${build.version} (API ${formatApiVersion(build)})\n`);
}
