/**
 * The ConfigMap cluster-info of the public namespace: the API's address and authority, as a kubeconfig
 * without users, readable by everybody (S2-BOOT-13). Created if missing; existing contents belong to the
 * administrators, as do the Role and RoleBinding that publish it.
 */
import { stringify } from "yaml";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { ANONYMOUS_USER } from "../request/user-info.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";

export const CLUSTER_INFO = "cluster-info";
export const KUBECONFIG_KEY = "kubeconfig";

const READER = "cluster-info-reader";

export interface ClusterInfo {
  /** "https://host:port" at which joining machines reach the API. */
  readonly server: string;
  /** PEM: the API's authority; "" = a publicly trusted one. */
  readonly authority: string;
}

/** Idempotent, and safe with several replicas starting at once. @throws {StatusError} */
export async function ensureClusterInfo(
  objects: ObjectsApi,
  naming: Naming,
  info: ClusterInfo,
  signal: AbortSignal,
): Promise<void> {
  const { publicNamespace: namespace } = naming;
  const rbac = `rbac.authorization.${naming.groupDomain}`;
  const metadata = { namespace, name: READER };
  const ensure = async (resource: ControlledResource, object: ApiObject): Promise<void> => {
    const { name = "" } = object.metadata;
    if (objects.get(resource, { namespace, name }) !== undefined) return;
    try {
      await objects.create(resource, object, signal);
    } catch (error) {
      const isThere = error instanceof StatusError && error.reason === "AlreadyExists";
      if (!isThere) throw error;
    }
  };
  await ensure(objects.resource("", "configmaps"), {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { namespace, name: CLUSTER_INFO },
    data: { [KUBECONFIG_KEY]: toKubeconfig(info) },
  });
  await ensure(objects.resource(rbac, "roles"), {
    kind: "Role",
    apiVersion: `${rbac}/v1`,
    metadata,
    rules: [
      { apiGroups: [""], resources: ["configmaps"], resourceNames: [CLUSTER_INFO], verbs: ["get"] },
    ],
  });
  await ensure(objects.resource(rbac, "rolebindings"), {
    kind: "RoleBinding",
    apiVersion: `${rbac}/v1`,
    metadata,
    roleRef: { apiGroup: rbac, kind: "Role", name: READER },
    subjects: [{ apiGroup: rbac, kind: "User", name: ANONYMOUS_USER }],
  });
}

function toKubeconfig({ server, authority }: ClusterInfo): string {
  const data = Buffer.from(authority, "utf8").toString("base64");
  return stringify(
    {
      apiVersion: "v1",
      clusters: [
        {
          cluster: { ...(data !== "" && { "certificate-authority-data": data }), server },
          name: "",
        },
      ],
      contexts: null,
      "current-context": "",
      kind: "Config",
      users: null,
    },
    { lineWidth: 0 },
  );
}
