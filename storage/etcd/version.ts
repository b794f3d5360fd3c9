/** Capabilities of etcd's versions. Takes a member's version text ("3.5.16", "3.6.0-rc.1"). */

type Version = readonly [major: number, minor: number, patch: number];

/** The oldest etcd that the store works with. */
const OLDEST: Version = [3, 4, 0];

/**
 * From these patches on a requested progress notification waits for the events before it (etcd
 * issues 15220 and 17507). Later minor versions have both fixes from their first release.
 */
const TRUSTED_PROGRESS: readonly Version[] = [
  [3, 4, 31],
  [3, 5, 13],
];

/** Whether the store works with that version. */
export function isSupported(version: string): boolean {
  return compare(parseVersion(version), OLDEST) >= 0;
}

/** Whether a progress notification of that version promises that all events before it are here. */
export function hasTrustedProgress(version: string): boolean {
  const [major, minor, patch] = parseVersion(version);
  const fixed = TRUSTED_PROGRESS.find((since) => since[0] === major && since[1] === minor);
  if (fixed !== undefined) return patch >= fixed[2];
  return compare([major, minor, patch], [3, 6, 0]) >= 0;
}

/** An unparsable text counts as older than everything. */
function parseVersion(text: string): Version {
  const [, major = "0", minor = "0", patch = "0"] = /^(\d+)\.(\d+)\.(\d+)/.exec(text) ?? [];
  return [Number(major), Number(minor), Number(patch)];
}

function compare(left: Version, right: Version): number {
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}
