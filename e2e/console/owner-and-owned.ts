/** Two ConfigMaps of which one owns the other, with a writer of its own and an event: something for each view to show. */
import type { HttpsClient } from "../harness/https-client.js";
import { CONFIG_MAPS } from "./shared-console.js";

/** @returns the owner references of "owned" */
export async function createOwnerAndOwned(admin: HttpsClient) {
  const made = await admin.post(CONFIG_MAPS, { metadata: { name: "owner" }, data: { a: "1" } });
  const { uid } = JSON.parse(String(made.bytes)).metadata;
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
  await admin.post(CONFIG_MAPS, { metadata: { name: "owned", ownerReferences } });
  await admin.patch(`${CONFIG_MAPS}/owner?fieldManager=somebody`, { data: { a: "2" } });
  await admin.post("/api/v1/namespaces/default/events", {
    metadata: { name: "it-happened" },
    involvedObject: { kind: "ConfigMap", namespace: "default", name: "owner", uid },
    reason: "Happened",
    message: "as it does",
    type: "Normal",
  });
  return ownerReferences;
}
