/**
 * Names of API things: group, version, resource and kind, in the spellings that messages and URLs use.
 */

export interface GroupVersion {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
}

export interface GroupResource {
  readonly group: string;
  /** Plural, lower case, as in URLs. */
  readonly resource: string;
}

export interface GroupVersionKind extends GroupVersion {
  readonly kind: string;
}

/** "v1" or "apps/v1": the `apiVersion` of an object. */
export function formatGroupVersion({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/** "configmaps" or "deployments.apps": how messages name a resource. */
export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Splits "v1" or "apps/v1"; undefined when it has more than one slash or an empty part. */
export function parseGroupVersion(apiVersion: string): GroupVersion | undefined {
  const parts = apiVersion.split("/");
  if (parts.some((part) => part === "") || parts.length > 2) return undefined;
  const [first, second] = parts as [string, string?];
  return second === undefined ? { group: "", version: first } : { group: first, version: second };
}
