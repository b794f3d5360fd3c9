/**
 * Catalog: everything that is served, as one immutable value. Readers take the current one
 * (live-catalog.ts) for each request or event, and keep no piece of an old one, except data derived
 * from a resource or group-version and kept by its identity.
 *
 *   createCatalog(built-in) ─► Catalog ─► withCustom(catalog, custom) ─► Catalog ─► LiveCatalog.replace
 *
 * Parts that did not change between two catalogs are the same objects in both: resources always,
 * and group-versions whose resources are the same ones in the same order. So documents and caches
 * of unchanged parts stay valid, and the cost is that of the changed parts.
 */
import { assert } from "../../storage/base/assert.js";
import { compareTexts } from "../../storage/base/compare-texts.js";
import type { PartitionTraits } from "../../storage/cache/partition.js";
import type { PartitionId } from "../../storage/objects/keys.js";
import type { GroupVersion } from "../api/names.js";
import { compareVersions } from "../api/version-order.js";
import type { ResourceFact } from "../schema/model.js";
import {
  type MainResource,
  mainOf,
  type RootResource,
  type StoredResource,
} from "./served-resource.js";
import { knowledgeOf } from "./stored-knowledge.js";

/** The server that answers requests to a group-version. */
export type Server = { readonly form: "local" };

export interface CatalogGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly server: Server;
  readonly resources: readonly RootResource[];
  /** Resources and subresources, sorted by name, each subresource after its resource. */
  readonly facts: readonly ResourceFact[];
}

export interface CatalogGroup {
  /** "" = core. */
  readonly name: string;
  /** In order of preference; never empty. */
  readonly versions: readonly CatalogGroupVersion[];
}

export interface BuiltIn {
  readonly resources: readonly RootResource[];
  /** Group-versions in discovery order; those without a resource are left out. */
  readonly order: readonly GroupVersion[];
  /** Known versions that are not served: objects may still name them in managed fields. */
  readonly unserved?: readonly MainResource[];
}

export interface Catalog {
  /** In discovery order, core first; none is empty. */
  readonly groups: readonly CatalogGroup[];
  /** Every resource once per group-version, built-in ones first. */
  readonly resources: readonly RootResource[];
  /** The resources at start, which stay. */
  readonly builtIn: BuiltIn;
  /** Resources added at run time, which may be removed. */
  readonly custom: readonly MainResource[];
  /** By the group-version that it is served in. */
  find(group: string, version: string, resource: string): RootResource | undefined;
  /** The same, limited to resources with stored objects. */
  findMain(group: string, version: string, resource: string): MainResource | undefined;
  findKind(group: string, version: string, kind: string): MainResource | undefined;
  groupVersion(group: string, version: string): CatalogGroupVersion | undefined;
  /** The resource in its stored version, one per partition. */
  stored(partition: PartitionId): MainResource | undefined;
  /** The versions that one partition is served in. */
  versionsOf(partition: PartitionId): readonly MainResource[];
  /** The same, plus its unserved versions. */
  knownVersionsOf(partition: PartitionId): readonly MainResource[];
  /** The traits of a partition, for the view. */
  traits(partition: PartitionId): PartitionTraits;
}

const NO_TRAITS: PartitionTraits = Object.freeze({});
const LOCAL: Server = Object.freeze({ form: "local" });

/** A catalog of built-in resources alone. */
export function createCatalog(builtIn: BuiltIn): Catalog {
  return assemble(builtIn, [], undefined);
}

/**
 * The catalog with these custom resources in place of its own. A later resource never hides a
 * built-in one, nor the first of several with the same name.
 */
export function withCustom(catalog: Catalog, custom: readonly MainResource[]): Catalog {
  return assemble(catalog.builtIn, custom, catalog);
}

function assemble(
  builtIn: BuiltIn,
  wanted: readonly MainResource[],
  previous: Catalog | undefined,
): Catalog {
  const byName = new Map<string, RootResource>();
  for (const resource of builtIn.resources) byName.set(nameOf(resource), resource);
  const custom: MainResource[] = [];
  for (const resource of wanted) {
    if (byName.has(nameOf(resource))) continue;
    byName.set(nameOf(resource), resource);
    custom.push(resource);
  }
  const resources = Object.freeze([...builtIn.resources, ...custom]);
  const groupVersions = groupVersionsOf(resources, builtIn.order, previous);
  const kinds = new Map<string, MainResource>();
  const versions = new Map<PartitionId, MainResource[]>();
  for (const resource of resources) {
    if (resource.form !== "main") continue;
    const { group, version, kind, partition } = resource;
    const key = keyOf(group, version, kind);
    if (!kinds.has(key)) kinds.set(key, resource);
    const known = versions.get(partition);
    if (known === undefined) versions.set(partition, [resource]);
    else known.push(resource);
  }
  const stored = new Map([...versions].map(([id, all]) => [id, storedOf(all)]));
  const traits = new Map([...stored].map(([id, resource]) => [id, traitsOf(resource)]));
  const find = (group: string, version: string, resource: string) =>
    byName.get(keyOf(group, version, resource));
  return Object.freeze({
    groups: groupsOf(groupVersions, previous),
    resources,
    builtIn,
    custom: Object.freeze(custom),
    find,
    findMain(group, version, resource) {
      const found = find(group, version, resource);
      return found?.form === "main" ? found : undefined;
    },
    findKind: (group, version, kind) => kinds.get(keyOf(group, version, kind)),
    groupVersion: (group, version) => groupVersions.get(keyOf(group, version, "")),
    stored: (partition) => stored.get(partition),
    versionsOf: (partition) => versions.get(partition) ?? [],
    knownVersionsOf: (partition) => [
      ...(versions.get(partition) ?? []),
      ...(builtIn.unserved ?? []).filter((resource) => resource.partition === partition),
    ],
    traits: (partition) => traits.get(partition) ?? NO_TRAITS,
  } satisfies Catalog);
}

/** By group-version, in discovery order; unchanged ones are those of the previous catalog. */
function groupVersionsOf(
  resources: readonly RootResource[],
  order: readonly GroupVersion[],
  previous: Catalog | undefined,
): ReadonlyMap<string, CatalogGroupVersion> {
  const byGroupVersion = new Map<string, RootResource[]>();
  for (const { group, version } of order) byGroupVersion.set(keyOf(group, version, ""), []);
  const unordered = resources
    .filter(({ group, version }) => !byGroupVersion.has(keyOf(group, version, "")))
    .toSorted((a, b) => compareTexts(a.group, b.group) || compareVersions(a.version, b.version));
  for (const { group, version } of unordered) byGroupVersion.set(keyOf(group, version, ""), []);
  for (const resource of resources) {
    byGroupVersion.get(keyOf(resource.group, resource.version, ""))?.push(resource);
  }
  const made = new Map<string, CatalogGroupVersion>();
  for (const [key, members] of byGroupVersion) {
    const [first] = members;
    if (first === undefined) continue;
    const { group, version } = first;
    const known = previous?.groupVersion(group, version);
    const isKnown = known !== undefined && isSame(known.resources, members);
    made.set(key, isKnown ? known : createGroupVersion({ group, version }, members));
  }
  return made;
}

function createGroupVersion(
  { group, version }: GroupVersion,
  resources: readonly RootResource[],
): CatalogGroupVersion {
  const byName = (a: ResourceFact, b: ResourceFact) =>
    compareTexts(resourceName(a), resourceName(b));
  const facts = resources
    .toSorted((a, b) => byName(a.fact, b.fact))
    .flatMap((resource) => {
      if (resource.form !== "main") return [resource.fact];
      const parts = [...resource.subresources.values()].map(({ fact }) => fact);
      // Those of custom kinds keep the order of their declaration: status, then scale.
      return [resource.fact, ...(resource.isCustom ? parts : parts.toSorted(byName))];
    });
  return Object.freeze({
    group,
    version,
    server: LOCAL,
    resources: Object.freeze([...resources]),
    facts: Object.freeze(facts),
  });
}

function groupsOf(
  groupVersions: ReadonlyMap<string, CatalogGroupVersion>,
  previous: Catalog | undefined,
): readonly CatalogGroup[] {
  const groups = new Map<string, CatalogGroupVersion[]>();
  for (const groupVersion of groupVersions.values()) {
    const known = groups.get(groupVersion.group);
    if (known === undefined) groups.set(groupVersion.group, [groupVersion]);
    else known.push(groupVersion);
  }
  const known = new Map(previous?.groups.map((group) => [group.name, group]));
  const made = [...groups].map(([name, versions]): CatalogGroup => {
    const before = known.get(name);
    if (before !== undefined && isSame(before.versions, versions)) return before;
    return Object.freeze({ name, versions: Object.freeze(versions) });
  });
  return Object.freeze(made);
}

/** Whether the catalog still shows objects as this resource does. */
export function isShownAlike(catalog: Catalog, resource: StoredResource): boolean {
  const { shownAs, group, version, resource: plural } = mainOf(resource);
  if (shownAs === undefined || isCurrent(catalog, resource)) return isCurrent(catalog, resource);
  return catalog.findMain(group, version, plural)?.shownAs === shownAs;
}

/** Whether the catalog still has this very resource, or its main resource. */
export function isCurrent(catalog: Catalog, resource: StoredResource): boolean {
  const main = mainOf(resource);
  return !main.isCustom || catalog.find(main.group, main.version, main.resource) === main;
}

/** "deployments" or "deployments/status": a resource's name in discovery. */
export function resourceName({ resource, subresource }: ResourceFact): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}

/** The stored version if it is served, else any served one. */
function storedOf(versions: readonly MainResource[]): MainResource {
  const [first] = versions;
  assert(first !== undefined, "PartitionHasAResource");
  return versions.find(({ isStoredVersion }) => isStoredVersion) ?? first;
}

function traitsOf(resource: MainResource): PartitionTraits {
  const { triggerField } = resource.strategy;
  return { ...knowledgeOf(resource), ...(triggerField === undefined ? {} : { triggerField }) };
}

function nameOf({ group, version, resource }: RootResource): string {
  return keyOf(group, version, resource);
}

function keyOf(group: string, version: string, name: string): string {
  return `${group}/${version}/${name}`;
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}
