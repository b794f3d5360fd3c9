/** What the server serves: its types, by discovery, each in the version that its group prefers. */
import type { JsonObject } from "../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import type { TypeName } from "../model/routes.js";
import type { Api } from "./api.js";

export interface ServedType extends TypeName {
  readonly version: string;
  /** "/api/v1", "/apis/apps/v1" */
  readonly root: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
}

export interface Catalog {
  /** Those that can be listed, in the order of their names. */
  readonly types: readonly ServedType[];
  /** Groups that did not answer, and why. */
  readonly problems: readonly string[];
}

const NAMING = createNaming(DEFAULT_VENDOR);
const META = `meta.${NAMING.groupDomain}`;
export const TABLE = `application/json;as=Table;v=v1;g=${META}, application/json`;
export const METADATA_LIST = `application/json;as=PartialObjectMetadataList;v=v1;g=${META}, application/json`;
export const SYSTEM_NAMESPACE = NAMING.systemNamespace;
/** The label of Leases that replicas of the API server keep. */
export const REPLICA_LABEL = `apiserver.${NAMING.labelDomain}/identity`;
export const CONTROL_PLANES = { group: `tenancy.${NAMING.groupDomain}`, resource: "controlplanes" };
export const LEASES = { group: `coordination.${NAMING.groupDomain}`, resource: "leases" };

interface Listed {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** @throws {ApiProblem} nothing can be discovered */
export async function readCatalog(api: Api, signal: AbortSignal): Promise<Catalog> {
  const { groups } = (await api.get("/apis", signal)) as unknown as {
    groups: readonly { name: string; preferredVersion: { version: string } }[];
  };
  const problems: string[] = [];
  const all = [{ name: "", preferredVersion: { version: "v1" } }, ...groups];
  const found = await Promise.all(
    all.map(async ({ name: group, preferredVersion: { version } }) => {
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      try {
        return typesIn(await api.get(root, signal), { group, version, root });
      } catch (error) {
        problems.push(`${group}: ${(error as Error).message}`);
        return [];
      }
    }),
  );
  const types = found.flat().sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return { types, problems };
}

function typesIn(
  list: JsonObject,
  place: { readonly group: string; readonly version: string; readonly root: string },
): ServedType[] {
  const listed = (list.resources ?? []) as unknown as readonly Listed[];
  return listed
    .filter(({ name, verbs }) => !name.includes("/") && verbs.includes("list"))
    .map(({ name, kind, namespaced, verbs }) => {
      return { ...place, resource: name, kind, isNamespaced: namespaced, verbs };
    });
}

/** As people look for them: the core's, those of the built-in workloads, those of domains; "" = the core's. */
export function groupsOf(types: readonly ServedType[]): Map<string, ServedType[]> {
  const groups = new Map<string, ServedType[]>();
  for (const type of types) groups.set(type.group, [...(groups.get(type.group) ?? []), type]);
  const rank = (group: string) => (group === "" ? 0 : group.includes(".") ? 2 : 1);
  return new Map([...groups].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1)));
}

/** "pods", "deployments.apps" */
export function nameOf({ group, resource }: TypeName): string {
  return group === "" ? resource : `${resource}.${group}`;
}

export function findType(
  { types }: Catalog,
  { group, resource }: TypeName,
): ServedType | undefined {
  return types.find((one) => one.group === group && one.resource === resource);
}

/** @param name "" = all objects. @param namespace "" = all, or none */
export function pathOf(
  { root, resource, isNamespaced }: ServedType,
  namespace: string,
  name = "",
): string {
  const within =
    isNamespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${within}/${resource}${name === "" ? "" : `/${encodeURIComponent(name)}`}`;
}
