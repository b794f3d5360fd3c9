/** Gives everybody who is authenticated one of the roles that every cluster has. */
import type { HttpsClient } from "./https-client.js";

export async function grantEverybody(client: HttpsClient, role: "view" | "edit"): Promise<void> {
  const binding = {
    metadata: { name: `everybody-has-${role}` },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [
      { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:authenticated" },
    ],
  };
  const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  (await client.post(path, binding)).expect(201);
}
