/**
 * Aggregated discovery: all groups, versions and resources in one APIGroupDiscoveryList (S1-GEN-25).
 * Versions v2 and v2beta1 differ in the apiVersion only. Pure functions.
 */
import type { JsonObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { ResourceFact } from "../../schema/model.js";
import type { ServedGroup, ServedGroupVersion } from "./served.js";

/** Versions of the aggregated form, preferred first. */
export const AGGREGATED_VERSIONS = ["v2", "v2beta1"] as const;
export type AggregatedVersion = (typeof AGGREGATED_VERSIONS)[number];

export const AGGREGATED_KIND = "APIGroupDiscoveryList";

/** The group of the aggregated form's types, in the vendor's spelling. */
export function aggregatedGroup(naming: Naming): string {
  return `apidiscovery.${naming.groupDomain}`;
}

/** The media type of an answer in the aggregated form. */
export function aggregatedContentType(naming: Naming, version: AggregatedVersion): string {
  return `application/json;g=${aggregatedGroup(naming)};v=${version};as=${AGGREGATED_KIND}`;
}

/** The document: for `/api` the core group alone, for `/apis` all others. */
export function toApiGroupDiscoveryList(
  naming: Naming,
  version: AggregatedVersion,
  groups: readonly ServedGroup[],
): JsonObject {
  return {
    kind: AGGREGATED_KIND,
    apiVersion: `${aggregatedGroup(naming)}/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      // The core group has an empty name, which JSON output leaves out.
      metadata: group.name === "" ? {} : { name: group.name },
      versions: group.versions.map(toVersion),
    })),
  };
}

function toVersion({ version, facts, freshness = "Current" }: ServedGroupVersion): JsonObject {
  // An empty list is left out, as of a server that has not answered yet.
  return { version, ...(facts.length === 0 ? {} : { resources: toResources(facts) }), freshness };
}

/**
 * Subresources are nested below their resource. A subresource whose parent is not served in this
 * version gets a parent entry without verbs and kind, as kube-apiserver does.
 */
function toResources(facts: readonly ResourceFact[]): JsonObject[] {
  const subresources = new Map<string, ResourceFact[]>();
  for (const fact of facts) {
    if (fact.subresource === "") continue;
    const siblings = subresources.get(fact.resource) ?? [];
    siblings.push(fact);
    subresources.set(fact.resource, siblings);
  }
  const parents = facts.filter(({ subresource }) => subresource === "");
  const entries = parents.map((fact) => toResource(fact, subresources.get(fact.resource) ?? []));
  const known = new Set(parents.map(({ resource }) => resource));
  for (const [resource, children] of subresources) {
    const first = children[0];
    if (known.has(resource) || first === undefined) continue;
    entries.push({
      resource,
      scope: scopeOf(first),
      singularResource: "",
      verbs: [],
      subresources: children.map(toSubresource),
    });
  }
  return entries;
}

function toResource(fact: ResourceFact, subresources: readonly ResourceFact[]): JsonObject {
  return {
    resource: fact.resource,
    responseKind: responseKindOf(fact),
    scope: scopeOf(fact),
    singularResource: fact.singular,
    verbs: [...(fact.shownVerbs ?? fact.verbs)],
    ...(fact.shortNames.length === 0 ? {} : { shortNames: [...fact.shortNames] }),
    ...(fact.categories.length === 0 ? {} : { categories: [...fact.categories] }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map(toSubresource) }),
  };
}

function toSubresource(fact: ResourceFact): JsonObject {
  return {
    subresource: fact.subresource,
    responseKind: responseKindOf(fact),
    verbs: [...(fact.shownVerbs ?? fact.verbs)],
  };
}

/** An empty group and version mean those of the enclosing version; custom kinds name theirs, as in kube-apiserver. */
function responseKindOf(fact: ResourceFact): JsonObject {
  const { kind, kindGroupVersion, isCustom } = fact;
  const { group, version } = kindGroupVersion ?? (isCustom ? fact : { group: "", version: "" });
  return { group, version, kind };
}

function scopeOf({ namespaced }: ResourceFact): string {
  return namespaced ? "Namespaced" : "Cluster";
}
