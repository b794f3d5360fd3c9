/**
 * Warnings about volumes: sources that nothing mounts any more, and files that take each other's place
 * (R27; pkg/api/pod/warnings.go).
 *
 *   items: [{ path: "a" }, { path: "a/b" }]      overlapping paths: "a/b" with "a"
 */

import { isRecord } from "../../../storage/base/is-record.js";
import { withoutTrailingSlashes } from "../../../storage/base/trailing-slashes.js";
import type { WarningList } from "../generic/warning-list.js";
import type { Volume } from "./pod-types.js";

type Members = Readonly<Record<string, unknown>>;

/** Sources, as warnings spell them, and what became of them. */
const GONE: readonly (readonly [source: string, as: string, why: string])[] = [
  ["photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"],
];

/** @param field of the volumes */
export function warnOfVolumes(
  volumes: readonly Volume[],
  field: string,
  warnings: WarningList,
): void {
  volumes.forEach((volume, index) => {
    warnOfSources(volume, `${field}[${index}]`, warnings);
    if (!volume.ephemeral) return;
    const claim = membersOf(membersOf(volume.ephemeral).volumeClaimTemplate).spec;
    warnOfClaim(claim, `${field}[${index}].ephemeral.volumeClaimTemplate.spec`, warnings);
  });
  for (const volume of volumes) warnOfFiles(volume, warnings);
}

/**
 * @param field of what has the sources
 * @param untold sources that are told of elsewhere only
 */
export function warnOfSources(
  sources: Members,
  field: string,
  warnings: WarningList,
  untold: readonly string[] = [],
): void {
  for (const [source, as, why] of GONE) {
    if (sources[source] && !untold.includes(source)) warnings.add(`${field}.${as}: ${why}`);
  }
}

/** Bytes come in whole ones. */
export function warnOfClaim(spec: unknown, field: string, warnings: WarningList): void {
  const resources = membersOf(membersOf(spec).resources);
  for (const kind of ["requests", "limits"]) {
    const { storage } = membersOf(resources[kind]);
    if (isFraction(storage)) {
      warnOfFraction(storage, `${field}.resources.${kind}[storage]`, warnings);
    }
  }
}

/** @param quantity in its canonical form, which has a suffix below one only for fractions */
export function isFraction(quantity: unknown): quantity is string {
  return typeof quantity === "string" && /[mun]$/.test(quantity);
}

export function warnOfFraction(quantity: string, field: string, warnings: WarningList): void {
  warnings.add(
    `${field}: fractional byte value ${JSON.stringify(quantity)} is invalid, must be an integer`,
  );
}

interface FilePath {
  readonly path: string;
  /** Out of what it is made; "" where the volume has one source. */
  readonly source: string;
}

function warnOfFiles(volume: Volume, warnings: WarningList): void {
  const { name, configMap, secret, downwardAPI, projected } = volume;
  const config = membersOf(configMap);
  const secrets = membersOf(secret);
  const one: readonly (readonly [as: string, of: unknown, items: unknown])[] = [
    ["ConfigMap ", config.name ?? "", config.items],
    ["Secret ", secrets.secretName ?? "", secrets.items],
    ["DownwardAPI", undefined, membersOf(downwardAPI).items],
  ];
  for (const [as, of, items] of one) {
    if (!Array.isArray(items)) continue;
    const what = of === undefined ? as : `${as}${JSON.stringify(of)}`;
    warnOfOverlaps(pathsIn(items, ""), `volume ${JSON.stringify(name)} (${what})`, warnings);
  }
  if (!isRecord(projected) || !Array.isArray(projected.sources)) return;
  const paths: FilePath[] = [];
  for (const source of projected.sources) {
    if (isRecord(source) && Object.values(source).some((value) => (value ?? null) !== null)) {
      paths.push(...projectedPaths(source));
    } else warnings.add(`volume ${JSON.stringify(name)} (Projected) has no sources provided`);
  }
  warnOfOverlaps(paths, `volume ${JSON.stringify(name)} (Projected)`, warnings);
}

function projectedPaths(source: Members): FilePath[] {
  for (const [member, as] of [
    ["configMap", "ConfigMap"],
    ["secret", "Secret"],
  ] as const) {
    const { name = "", items } = membersOf(source[member]);
    if (Array.isArray(items)) return pathsIn(items, `${as} ${JSON.stringify(name)}`);
  }
  const { items } = membersOf(source.downwardAPI);
  if (Array.isArray(items)) return pathsIn(items, "DownwardAPI");
  const { path } = membersOf(source.serviceAccountToken);
  return typeof path === "string" ? [{ path, source: "ServiceAccountToken" }] : [];
}

function pathsIn(items: unknown, source: string): FilePath[] {
  if (!Array.isArray(items)) return [];
  return items.map((item) => ({ path: String(membersOf(item).path ?? ""), source }));
}

function warnOfOverlaps(paths: readonly FilePath[], what: string, warnings: WarningList): void {
  const before: FilePath[] = [];
  for (const { path: sent, source } of paths) {
    const file = { path: withoutTrailingSlashes(sent), source };
    if (file.path === "") continue;
    for (const other of before) {
      if (!warnings.spend(Math.min(file.path.length, other.path.length))) return;
      if (!isWithin(file.path, other.path) && !isWithin(other.path, file.path)) continue;
      warnings.add(`${what}: overlapping paths: ${show(file)} with ${show(other)}`);
    }
    before.push(file);
  }
}

function isWithin(path: string, folder: string): boolean {
  const isEnd = path.length === folder.length || path[folder.length] === "/";
  return isEnd && path.startsWith(folder);
}

function show({ path, source }: FilePath): string {
  return source === "" ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;
}

function membersOf(value: unknown): Members {
  return isRecord(value) ? value : {};
}
