/**
 * Lifecycle: the releases that serve a kind in a version, and the warning for deprecated ones
 * (S2-DEP-12). Pure.
 *
 *   introduced 1.31 ──── served ──── deprecated 1.34 ──── served, with a warning ──── removed 1.37
 */
import { formatGroupVersion, type GroupVersion, type GroupVersionKind } from "../api/names.js";

/** A release of the API, for example 1.36. Patch releases change no version. */
export interface Release {
  readonly major: number;
  readonly minor: number;
}

/** The release of kube-apiserver that the facts describe and this server speaks. */
export const API_RELEASE: Release = Object.freeze({ major: 1, minor: 36 });

/** The release that a process behaves as, which may be older than its own. */
export interface EffectiveReleases {
  /** Versions, gates and defaults are those of this release. */
  readonly emulated: Release;
  /** The oldest release of replicas that may run beside it. */
  readonly minCompatibility: Release;
}

export interface Lifecycle {
  readonly introduced: Release;
  readonly deprecated?: Release;
  /** The first release without it. */
  readonly removed?: Release;
  /** What to use instead. */
  readonly replacement?: GroupVersionKind;
}

/** The warning and the record for a request to a deprecated version. */
export interface Deprecation {
  readonly warning: string;
  /** "1.37", or "" if unknown. */
  readonly removedRelease: string;
}

const RELEASE = /^(\d+)\.(\d+)$/;

/** "1.36" to a release; undefined if invalid. */
export function parseRelease(text: string): Release | undefined {
  const [, major, minor] = RELEASE.exec(text) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { major: Number(major), minor: Number(minor) };
}

export function formatRelease({ major, minor }: Release): string {
  return `${major}.${minor}`;
}

/** Negative if `a` is older. */
export function compareReleases(a: Release, b: Release): number {
  return a.major - b.major || a.minor - b.minor;
}

/** Whether a release serves it; true without a known lifecycle. */
export function isServedIn(lifecycle: Lifecycle | undefined, release: Release): boolean {
  if (lifecycle === undefined) return true;
  const { introduced, removed } = lifecycle;
  if (compareReleases(introduced, release) > 0) return false;
  return removed === undefined || compareReleases(removed, release) > 0;
}

/** In kube-apiserver's words; undefined if the kind is not deprecated in the release. */
export function deprecationOf(
  { group, version, kind }: GroupVersion & { readonly kind: string },
  lifecycle: Lifecycle | undefined,
  release: Release,
): Deprecation | undefined {
  const { deprecated, removed, replacement } = lifecycle ?? {};
  if (deprecated === undefined || compareReleases(deprecated, release) > 0) return undefined;
  const removedRelease = removed === undefined ? "" : formatRelease(removed);
  let warning = `${formatGroupVersion({ group, version })} ${kind} is deprecated in v${formatRelease(deprecated)}+`;
  if (removedRelease !== "") warning += `, unavailable in v${removedRelease}+`;
  if (replacement !== undefined) {
    warning += `; use ${formatGroupVersion(replacement)} ${replacement.kind}`;
  }
  return { warning, removedRelease };
}

/**
 * From the attributes `introduced`, `deprecated`, `removed` and `use` (docs/dev/facts.md); undefined without
 * the first. @throws {SyntaxError} for an invalid release
 */
export function parseLifecycle(
  attributes: Readonly<Record<string, string | undefined>>,
): Lifecycle | undefined {
  const releaseOf = (name: string): Release | undefined => {
    const text = attributes[name] ?? "";
    const release = parseRelease(text);
    if (release === undefined && text !== "") throw new SyntaxError(`${name}=${text}: no release`);
    return release;
  };
  const introduced = releaseOf("introduced");
  if (introduced === undefined) return undefined;
  const [deprecated, removed] = [releaseOf("deprecated"), releaseOf("removed")];
  const replacement = parseKind(attributes.use ?? "");
  return Object.freeze({
    introduced,
    ...(deprecated !== undefined && { deprecated }),
    ...(removed !== undefined && { removed }),
    ...(replacement !== undefined && { replacement }),
  });
}

/** "discovery.k8s.io/v1/EndpointSlice"; of the core group "v1/Pod". */
function parseKind(text: string): GroupVersionKind | undefined {
  const parts = text.split("/");
  const [kind, version, group = ""] = [parts.pop() ?? "", parts.pop(), parts.pop()];
  return version === undefined ? undefined : { group, version, kind };
}
