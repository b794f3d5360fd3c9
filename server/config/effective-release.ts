/**
 * Which release of the API this process behaves as (`--emulated-version`), and the oldest one whose
 * replicas it may run beside (`--min-compatibility-version`). During an upgrade the new replicas are
 * told to emulate the old release until the last old one is gone, so that a client meets the same
 * versions, gates and defaults on each.
 */
import {
  API_RELEASE,
  compareReleases,
  type EffectiveReleases,
  formatRelease,
  parseRelease,
  type Release,
} from "../schema/lifecycle.js";

/** So many releases back, as kube-apiserver promises for its control plane. */
const RELEASES_BACK = 3;

/** kube-apiserver names one of several components; this server is the only one here. */
const COMPONENT = "kube";

export const OLDEST_RELEASE: Release = before(API_RELEASE, RELEASES_BACK);

/** @throws {RangeError} with one line */
export function effectiveReleases(asked: {
  readonly emulatedVersion: string;
  readonly minCompatibilityVersion: string;
}): EffectiveReleases {
  const emulated = releaseOf("--emulated-version", asked.emulatedVersion) ?? API_RELEASE;
  requireBetween("emulation version", emulated, API_RELEASE);
  const oldest = releaseOf("--min-compatibility-version", asked.minCompatibilityVersion);
  const minCompatibility = oldest ?? latest(before(emulated, 1), OLDEST_RELEASE);
  requireBetween("minCompatibilityVersion", minCompatibility, emulated);
  return Object.freeze({ emulated, minCompatibility });
}

/** "1.35", or "kube=1.35"; undefined for "". */
function releaseOf(flag: string, text: string): Release | undefined {
  if (text === "") return undefined;
  const [component, named] = text.split("=");
  if (named !== undefined && component !== COMPONENT) {
    throw new RangeError(`${flag}: component not registered: ${component}; there is ${COMPONENT}`);
  }
  const release = parseRelease(named ?? text);
  if (release !== undefined) return release;
  throw new RangeError(
    `${flag}: ${JSON.stringify(text)} is not <major>.<minor>, such as kube=1.35`,
  );
}

function requireBetween(what: string, release: Release, newest: Release): void {
  const isBetween =
    compareReleases(release, OLDEST_RELEASE) >= 0 && compareReleases(release, newest) <= 0;
  if (isBetween) return;
  throw new RangeError(
    `${what} ${formatRelease(release)} is not between [${formatRelease(OLDEST_RELEASE)}, ${formatRelease(newest)}]`,
  );
}

function before({ major, minor }: Release, count: number): Release {
  return Object.freeze({ major, minor: minor - count });
}

function latest(a: Release, b: Release): Release {
  return compareReleases(a, b) > 0 ? a : b;
}
