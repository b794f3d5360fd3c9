/**
 * Discovery in its first form: one small object per level (APIVersions, APIGroupList, APIGroup,
 * APIResourceList), as kube-apiserver publishes them (S1-GEN-06, S1-GEN-24). Pure functions; member
 * order is that of the types' declaration, which is the order of the JSON text.
 */
import type { JsonObject } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { resourceName } from "../../kinds/catalog.js";
import type { ResourceFact } from "../../schema/model.js";
import type { ServedGroup, ServedGroupVersion } from "./served.js";

/**
 * `/api`. Without apiVersion, like the list of core resources, as in kube-apiserver.
 * @param serverAddress "host:port" at which clients reach this server
 */
export function toApiVersions(core: ServedGroup | undefined, serverAddress: string): JsonObject {
  return {
    kind: "APIVersions",
    versions: (core?.versions ?? []).map(({ version }) => version),
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** `/apis`: every named group. */
export function toApiGroupList(groups: readonly ServedGroup[]): JsonObject {
  return {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: groups.map(groupMembers),
  };
}

/** `/apis/<group>`. */
export function toApiGroup(group: ServedGroup): JsonObject {
  return { kind: "APIGroup", apiVersion: "v1", ...groupMembers(group) };
}

/** `/api/<version>` and `/apis/<group>/<version>`. */
export function toApiResourceList(groupVersion: ServedGroupVersion): JsonObject {
  return {
    kind: "APIResourceList",
    ...(groupVersion.group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: formatGroupVersion(groupVersion),
    resources: groupVersion.facts.map(toApiResource),
  };
}

function groupMembers(group: ServedGroup): JsonObject {
  const versions = group.versions.map((groupVersion) => ({
    groupVersion: formatGroupVersion(groupVersion),
    version: groupVersion.version,
  }));
  const preferredVersion = versions[0];
  return {
    name: group.name,
    versions,
    ...(preferredVersion === undefined ? {} : { preferredVersion: { ...preferredVersion } }),
  };
}

function toApiResource(fact: ResourceFact): JsonObject {
  return {
    name: resourceName(fact),
    singularName: fact.subresource === "" ? fact.singular : "",
    namespaced: fact.namespaced,
    // Only if the kind belongs to another group-version, for example autoscaling/v1 for Scale.
    ...(fact.kindGroupVersion === undefined
      ? {}
      : { group: fact.kindGroupVersion.group, version: fact.kindGroupVersion.version }),
    kind: fact.kind,
    verbs: [...(fact.shownVerbs ?? fact.verbs)],
    ...(fact.shortNames.length === 0 ? {} : { shortNames: [...fact.shortNames] }),
    ...(fact.categories.length === 0 ? {} : { categories: [...fact.categories] }),
    ...(fact.storageVersionHash === "" ? {} : { storageVersionHash: fact.storageVersionHash }),
  };
}
