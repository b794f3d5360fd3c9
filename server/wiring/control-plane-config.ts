/** The configuration of a control plane below the root: the root's, without what is the operator's alone. */

import { KeySpace } from "../../storage/objects/keys.js";
import type { Config } from "../config/config.js";
import type { ControlPlaneEntry } from "../control-planes/control-plane-index.js";
import { CONTROL_PLANES_PATH } from "../control-planes/names-in-requests.js";

export function basePathOf({ name }: Pick<ControlPlaneEntry, "name">): string {
  return `${CONTROL_PLANES_PATH}${name}`;
}

/**
 * Its keys, and so its signing key, lie below its own prefix; its tokens name an issuer of its own. Rights are its own
 * RBAC, whatever gives rights in the root. It calls out as nobody: with the root's certificates its administrators
 * could speak to the root's nodes and extension servers as the root does.
 */
export function controlPlaneConfig(root: Config, entry: ControlPlaneEntry): Config {
  const basePath = basePathOf(entry);
  const { naming, serviceAccountIssuer } = root;
  const [issuer = `https://${naming.vendor}.default.svc.cluster.local`] = serviceAccountIssuer;
  return {
    ...root,
    etcdPrefix: `${new KeySpace(root.etcdPrefix).partsPrefix}${entry.uid}`,
    serviceAccountIssuer: [`${issuer}${basePath}`],
    apiAudiences: [],
    serviceAccountJwksUri: "",
    serviceAccountKeyFile: [],
    serviceAccountSigningKeyFile: "",
    tlsPrivateKeyFile: "",
    authorizationModes: ["Node", "RBAC"],
    authorizationConfig: "",
    authorizationPolicyFile: "",
    authorizationWebhookConfigFile: "",
    authorizationWebhookCacheRedis: "",
    proxyClientCertFile: "",
    proxyClientKeyFile: "",
    kubeletClientCertificate: "",
    kubeletClientKey: "",
    // Whoever leads runs them, in all replicas (lead.ts).
    runControllers: true,
    // It would have the memory of a recorder for each.
    record: "",
    profiling: false,
    enableTestApi: false,
    enableFaultInjection: false,
    enableControlPlanes: false,
  };
}
