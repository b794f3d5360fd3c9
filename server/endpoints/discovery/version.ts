/**
 * `/version`: the API release that this server speaks and the build of Keelson. Client libraries parse
 * major and minor and compare gitVersion as a semantic version.
 */
import type { JsonObject } from "../../api/meta.js";
import { API_RELEASE, type EffectiveReleases, formatRelease } from "../../schema/lifecycle.js";

export interface BuildInfo {
  /** Keelson's own version, for example "0.1.0". */
  readonly version: string;
  /** Empty if unknown to the build. */
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

/** The answer, with the members that clients know: the build, and the release it behaves as. */
export function toVersionInfo(
  build: BuildInfo,
  { emulated, minCompatibility }: EffectiveReleases,
  runtime: Pick<NodeJS.Process, "version" | "platform" | "arch">,
): JsonObject {
  return {
    major: String(API_RELEASE.major),
    minor: String(API_RELEASE.minor),
    emulationMajor: String(emulated.major),
    emulationMinor: String(emulated.minor),
    minCompatibilityMajor: String(minCompatibility.major),
    minCompatibilityMinor: String(minCompatibility.minor),
    gitVersion: formatApiVersion(build),
    gitCommit: build.commit,
    gitTreeState: build.commit === "" ? "" : "clean",
    buildDate: build.buildDate,
    goVersion: `node-${runtime.version}`,
    compiler: "v8",
    platform: `${runtime.platform}/${runtime.arch === "x64" ? "amd64" : runtime.arch}`,
  };
}
