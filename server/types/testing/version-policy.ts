/**
 * The rules for the table of versions (docs/use/api-versions.md), as a function from a table to its
 * violations. Tests pass it the facts, and tables that are wrong on purpose.
 */
import { formatGroupVersion, type GroupVersion } from "../../api/names.js";
import {
  compareReleases,
  formatRelease,
  isServedIn,
  type Lifecycle,
  parseLifecycle,
  type Release,
} from "../../schema/lifecycle.js";
import type { Facts } from "../../schema/model.js";

/** One kind in one of its versions. */
export interface VersionRow extends GroupVersion {
  readonly kind: string;
  readonly lifecycle: Lifecycle;
  readonly isOnByDefault: boolean;
  /** The version written to the store; undefined = nothing is stored. */
  readonly stored: GroupVersion | undefined;
}

/** Earlier betas were on by default, and had no time limit. */
const FIRST_LIMITED_BETA: Release = { major: 1, minor: 22 };

/** Releases between introduction, deprecation and removal of a beta: three are nine months or more. */
const BETA_RELEASES = 3;

/** The violations in a release, one line each; none for a valid table. */
export function breaches(table: readonly VersionRow[], release: Release): readonly string[] {
  return table.flatMap((row) =>
    [
      ...wrongOrder(row),
      ...wrongStage(row),
      ...wrongStableLife(row),
      ...wrongBetaLife(row),
      ...wrongReplacement(row, table),
      ...wrongOverlap(row, table),
      ...wrongStorage(row, table, release),
    ].map((why) => `${formatGroupVersion(row)} ${row.kind}: ${why}`),
  );
}

/** 0 alpha, 1 beta, 2 stable, from the version's name (S2-VERS-01, S2-VERS-02, S2-VERS-04). */
export function stabilityOf({ version }: Pick<GroupVersion, "version">): number {
  if (/^v\d+$/.test(version)) return 2;
  return /^v\d+beta\d+$/.test(version) ? 1 : 0;
}

function wrongOrder({ lifecycle: { introduced, deprecated, removed } }: VersionRow): string[] {
  const releases = [introduced, deprecated, removed].filter((one) => one !== undefined);
  const isOrdered = releases.every((one, index) => {
    const before = releases[index - 1];
    return before === undefined || compareReleases(before, one) < 0;
  });
  if (!isOrdered) return ["introduced, deprecated and removed do not follow each other"];
  return removed !== undefined && deprecated === undefined ? ["removed without deprecation"] : [];
}

function wrongStage(row: VersionRow): string[] {
  if (!row.isOnByDefault || stabilityOf(row) === 2) return [];
  return ["on by default, though it is not stable"];
}

function wrongStableLife(row: VersionRow): string[] {
  if (stabilityOf(row) < 2 || row.lifecycle.removed === undefined) return [];
  return ["a stable version is not removed within a major release"];
}

function wrongBetaLife(row: VersionRow): string[] {
  const { introduced, deprecated, removed } = row.lifecycle;
  if (stabilityOf(row) !== 1 || compareReleases(introduced, FIRST_LIMITED_BETA) < 0) return [];
  if (deprecated === undefined || removed === undefined) return ["a beta without an end"];
  return [
    ...(deprecated.minor - introduced.minor > BETA_RELEASES
      ? [`deprecated more than ${BETA_RELEASES} releases after its introduction`]
      : []),
    ...(removed.minor - deprecated.minor < BETA_RELEASES
      ? [`removed less than ${BETA_RELEASES} releases after its deprecation`]
      : []),
  ];
}

function wrongReplacement(row: VersionRow, table: readonly VersionRow[]): string[] {
  const { replacement } = row.lifecycle;
  if (replacement === undefined) return [];
  if (stabilityOf(replacement) < stabilityOf(row)) return ["replaced by what is less stable"];
  const { group, version } = replacement;
  const isKnown = table.some(
    (other) =>
      other.group === group && other.version === version && other.kind === itemKind(replacement),
  );
  return isKnown ? [] : [`replaced by ${replacement.kind}, which is not there`];
}

/** Before a version is removed, one release must have both it and its successor. */
function wrongOverlap(row: VersionRow, table: readonly VersionRow[]): string[] {
  const { introduced, removed, replacement } = row.lifecycle;
  if (removed === undefined || replacement === undefined) return [];
  const successors = table.filter(
    (other) =>
      other !== row &&
      other.kind === itemKind(replacement) &&
      other.group === replacement.group &&
      stabilityOf(other) >= stabilityOf(row) &&
      compareReleases(introduced, other.lifecycle.introduced) <= 0,
  );
  // A missing successor is another violation.
  if (successors.length === 0) return [];
  const overlaps = successors.some(
    ({ lifecycle }) => compareReleases(lifecycle.introduced, removed) < 0,
  );
  return overlaps ? [] : ["removed before its replacement was served beside it"];
}

/** Some facts name the kind's list. */
function itemKind({ kind }: { readonly kind: string }): string {
  return kind.replace(/List$/, "");
}

/** The stored version must be readable by the previous release, if that had the kind at all. */
function wrongStorage(
  { group, kind, stored, lifecycle }: VersionRow,
  table: readonly VersionRow[],
  release: Release,
): string[] {
  if (stored === undefined || !isServedIn(lifecycle, release)) return [];
  const versions = table.filter((other) => other.kind === kind && other.stored !== undefined);
  const written = versions.find(
    (other) => other.group === stored.group && other.version === stored.version,
  );
  if (written === undefined) return [`stored as ${formatGroupVersion(stored)}, which is not there`];
  if (!isServedIn(written.lifecycle, release)) {
    return [`stored as ${formatGroupVersion(stored)}, which ${formatRelease(release)} has not`];
  }
  const previous = { ...release, minor: release.minor - 1 };
  const wasReadable = isServedIn(written.lifecycle, previous);
  const wasServed = versions.some(
    (other) => other.group === group && isServedIn(other.lifecycle, previous),
  );
  if (wasReadable || !wasServed) return [];
  return [`stored as ${formatGroupVersion(stored)}, which ${formatRelease(previous)} cannot read`];
}

/** Every kind that was ever served, in every version in the facts. */
export function versionTable({ model, resources }: Facts): readonly VersionRow[] {
  const rows: VersionRow[] = [];
  for (const { group, version, types, served } of model.files.values()) {
    if (served === "never") continue;
    for (const type of types.values()) {
      if (type.form !== "struct" || !type.isKind || /(?:List|Options)$/.test(type.name)) continue;
      const fact = resources.find(
        (row) =>
          row.group === group &&
          row.version === version &&
          row.kind === type.name &&
          row.subresource === "",
      );
      const lifecycle = fact?.lifecycle ?? lifecycleOf(type.attributes);
      if (lifecycle === undefined) continue;
      rows.push({
        group,
        version,
        kind: type.name,
        lifecycle,
        isOnByDefault: fact?.onByDefault === true,
        stored: fact?.stored,
      });
    }
  }
  return rows;
}

/** Some kinds are marked as deprecated without a release. */
function lifecycleOf(attributes: Readonly<Record<string, string>>): Lifecycle | undefined {
  const { deprecated = "", introduced } = attributes;
  return parseLifecycle(/^\d/.test(deprecated) ? attributes : { introduced });
}
