/** The service account objects of every namespace (S2-REQ-08): the pods' default account and the root CA. */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import type { NamespaceDefault } from "./namespace-default-controller.js";

const AUTHORITY_KEY = "ca.crt";

const DESCRIPTION =
  "Contains a CA bundle that can be used to verify the API server when using internal endpoints such as the internal service IP. No other usage is guaranteed across distributions of clusters.";

/** The account of pods that name none. Users' changes stay. */
export const defaultServiceAccount: NamespaceDefault = {
  group: "",
  resource: "serviceaccounts",
  name: "default",
  shape: (current) =>
    current === undefined
      ? { kind: "ServiceAccount", apiVersion: "v1", metadata: { name: "default" } }
      : undefined,
};

/**
 * The ConfigMap by which clients in pods verify this API.
 * @param rootAuthority PEM certificates; "" = none known, nothing is written
 */
export function rootAuthorityMap(naming: Naming, rootAuthority: () => string): NamespaceDefault {
  const name = naming.rootAuthorityMap;
  const annotation = `${naming.labelDomain}/description`;
  return {
    group: "",
    resource: "configmaps",
    name,
    shape(current) {
      const authority = rootAuthority();
      if (authority === "") return undefined;
      const data = { [AUTHORITY_KEY]: authority };
      if (current === undefined) {
        const metadata = { name, annotations: { [annotation]: DESCRIPTION } };
        return { kind: "ConfigMap", apiVersion: "v1", metadata, data };
      }
      if (isOnly(current, authority)) return undefined;
      const annotations = { [annotation]: DESCRIPTION, ...current.metadata.annotations };
      const { binaryData: _, ...others } = current;
      return { ...others, metadata: { ...current.metadata, annotations }, data } as ApiObject;
    },
  };
}

/** Whether the map holds only the authority. */
function isOnly({ data, binaryData }: ApiObject, authority: string): boolean {
  const entries = Object.entries((data ?? {}) as Record<string, string>);
  const [[key, value] = ["", ""]] = entries;
  const isAlone = entries.length === 1 && Object.keys(binaryData ?? {}).length === 0;
  return isAlone && key === AUTHORITY_KEY && value === authority;
}
