/**
 * `/version`: which release of the API this server speaks, and which build of Keelson it is. Client
 * libraries parse major and minor and compare gitVersion as a semantic version.
 */
import type { JsonObject } from "../../api/meta.js";
import { API_RELEASE, formatRelease } from "../../schema/lifecycle.js";

export interface BuildInfo {
  /** Keelson's own version, such as "0.1.0". */
  readonly version: string;
  /** Empty when the build does not know it. */
  readonly commit: string;
  /** RFC 3339, or empty. */
  readonly buildDate: string;
}

/** "v1.36.0+keelson.0.1.0": the API release, and the build as semver metadata. */
export function formatApiVersion(build: BuildInfo): string {
  // Semver allows letters, digits, dots and hyphens in the metadata.
  const metadata = build.version.replaceAll(/[^0-9A-Za-z.-]/g, "-");
  return `v${formatRelease(API_RELEASE)}.0+keelson.${metadata}`;
}

/**
 * The answer, with the members that clients know. The members about emulation say that this server
 * behaves as the release it names and that none older is emulated.
 */
export function toVersionInfo(
  build: BuildInfo,
  runtime: Pick<NodeJS.Process, "version" | "platform" | "arch">,
): JsonObject {
  return {
    major: String(API_RELEASE.major),
    minor: String(API_RELEASE.minor),
    emulationMajor: String(API_RELEASE.major),
    emulationMinor: String(API_RELEASE.minor),
    minCompatibilityMajor: String(API_RELEASE.major),
    minCompatibilityMinor: String(API_RELEASE.minor),
    gitVersion: formatApiVersion(build),
    gitCommit: build.commit,
    gitTreeState: build.commit === "" ? "" : "clean",
    buildDate: build.buildDate,
    goVersion: `node-${runtime.version}`,
    compiler: "v8",
    platform: `${runtime.platform}/${runtime.arch === "x64" ? "amd64" : runtime.arch}`,
  };
}
