/** Namespaces are furnished by control loops: what counts on their work waits for it. */
import { eventually } from "./eventually.js";
import type { HttpsClient } from "./https-client.js";

/** What every namespace gets, and pods need. */
const FURNITURE = ["serviceaccounts/default", "configmaps/kube-root-ca.crt"];

/** Until pods can be created in the namespace and no control loop adds to it any more. */
export async function furnished(client: HttpsClient, namespace = "default"): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}`;
  for (const name of FURNITURE) {
    await eventually(`namespace ${namespace} has ${name}`, async () => {
      return (await client.get(`${path}/${name}`)).status === 200;
    });
  }
}
