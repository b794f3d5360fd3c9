/** How a fresh API is reached: what its kubeconfig says, and kubeconfigs of users with a token. */
import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import { parseYaml } from "../codec/yaml.js";
import type { KeelsonAccess } from "./types.js";

export interface AdminAccess extends KeelsonAccess {
  readonly cert: string;
  readonly key: string;
  readonly kubeconfigPath: string;
}

/** Null: it is empty, as of a server without certificates. */
type Members = Readonly<Record<string, string | null>>;

export async function readAccess(kubeconfigPath: string): Promise<AdminAccess> {
  const kubeconfig = await readFile(kubeconfigPath, "utf8");
  const config = parseYaml(kubeconfig).value as unknown as {
    readonly clusters: readonly { readonly cluster: Members }[];
    readonly users: readonly { readonly user: Members }[];
  };
  const cluster = config.clusters[0]?.cluster ?? {};
  const user = config.users[0]?.user ?? {};
  const decode = (text?: string | null) => Buffer.from(text ?? "", "base64").toString();
  return {
    url: cluster.server ?? "",
    ca: decode(cluster["certificate-authority-data"]),
    cert: decode(user["client-certificate-data"]),
    key: decode(user["client-key-data"]),
    kubeconfig,
    kubeconfigPath,
  };
}

export function tokenKubeconfig({ url, ca }: KeelsonAccess, name: string, token: string): string {
  const cluster = { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "keelson", cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name: "keelson", context: { cluster: "keelson", user: name } }],
    "current-context": "keelson",
  });
}
