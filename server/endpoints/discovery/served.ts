/**
 * ServedResources: what discovery and OpenAPI publish. The caller decides what is served (a resource
 * that is not built or not enabled is simply not in the list) and passes the facts of the rest; the
 * documents follow from them alone. Pure data.
 */
import type { Naming } from "../../api/naming.js";
import type { GroupVersionFact, ResourceFact, SchemaModel } from "../../schema/model.js";

export interface ServedResources {
  readonly naming: Naming;
  readonly model: SchemaModel;
  /** The resources and subresources that really are served. */
  readonly resources: readonly ResourceFact[];
  /** All known group-versions in discovery order; those without a served resource are left out. */
  readonly groupVersions: readonly GroupVersionFact[];
}

export interface ServedGroupVersion {
  readonly group: string;
  readonly version: string;
  /** Sorted by name, each subresource after its resource, as upstream lists them. */
  readonly resources: readonly ResourceFact[];
}

export interface ServedGroup {
  /** "" = core. */
  readonly name: string;
  /** In order of preference; never empty. */
  readonly versions: readonly ServedGroupVersion[];
}

/** The served groups in discovery order (core first), without empty groups and versions. */
export function groupServedResources(served: ServedResources): readonly ServedGroup[] {
  const byGroupVersion = new Map<string, ResourceFact[]>();
  for (const resource of served.resources) {
    const key = `${resource.group}/${resource.version}`;
    const list = byGroupVersion.get(key);
    if (list === undefined) byGroupVersion.set(key, [resource]);
    else list.push(resource);
  }
  const groups = new Map<string, ServedGroupVersion[]>();
  for (const { group, version } of served.groupVersions) {
    const resources = byGroupVersion.get(`${group}/${version}`);
    if (resources === undefined) continue;
    const versions = groups.get(group) ?? [];
    versions.push({ group, version, resources: resources.toSorted(byName) });
    groups.set(group, versions);
  }
  return [...groups].map(([name, versions]) => ({ name, versions }));
}

/** "deployments" or "deployments/status": a resource's name in an APIResourceList. */
export function resourceName({ resource, subresource }: ResourceFact): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}

function byName(a: ResourceFact, b: ResourceFact): number {
  const left = resourceName(a);
  const right = resourceName(b);
  return left < right ? -1 : left > right ? 1 : 0;
}
