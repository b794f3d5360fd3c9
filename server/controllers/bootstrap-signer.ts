/**
 * The loop `bootstrapsigner`: signs the kubeconfig in the ConfigMap cluster-info of the public namespace
 * with every signing token, so that a machine with a token can verify the cluster before it trusts it
 * (S2-BOOT-14). Signatures of deleted or expired tokens are removed.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { hasExpired, readBootstrapSecret } from "../authn/bootstrap-secret.js";
import { BootstrapSecrets } from "./bootstrap-secrets.js";
import { CLUSTER_INFO, KUBECONFIG_KEY } from "./cluster-info.js";
import { signDetached } from "./detached-jws.js";
import type { ObjectKey } from "./objects-api.js";
import { type LoopParts, runSyncLoop } from "./sync-loop.js";

const SIGNATURE_PREFIX = "jws-kubeconfig-";
const INTERVAL_MS = 60_000;

/** Runs until the signal aborts. */
export async function runBootstrapSigner(
  { naming, ...parts }: LoopParts & { readonly naming: Naming },
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock } = parts;
  const { publicNamespace } = naming;
  const secrets = new BootstrapSecrets(objects, naming);
  const configMaps = objects.resource("", "configmaps");
  const place: ObjectKey = { namespace: publicNamespace, name: CLUSTER_INFO };
  const sync = async (): Promise<number> => {
    let nextMs = Number.POSITIVE_INFINITY;
    const current = objects.get(configMaps, place);
    const data = (current?.data ?? {}) as Readonly<Record<string, string>>;
    const content = data[KUBECONFIG_KEY];
    if (current === undefined || content === undefined) return nextMs;
    const next = Object.fromEntries(
      Object.entries(data).filter(([key]) => !key.startsWith(SIGNATURE_PREFIX)),
    );
    for (const secret of secrets.list()) {
      const token = readBootstrapSecret(secret, naming);
      const nowMs = clock.now();
      if (token === undefined || !token.allowsSigning) continue;
      if (hasExpired(token.expiresAtMs, nowMs)) continue;
      nextMs = Math.min(nextMs, token.expiresAtMs - nowMs);
      const { id, secret: half } = token;
      next[SIGNATURE_PREFIX + id] = signDetached(content, id, `${id}.${half}`);
    }
    if (!isSame(data, next)) {
      const signed: ApiObject = { ...current, data: next };
      await objects.update(configMaps, signed, "", signal);
    }
    return nextMs;
  };
  const watches = [
    { resource: secrets.resource, concerns: (key: ObjectKey) => secrets.note(key) },
    {
      resource: configMaps,
      concerns: ({ namespace, name }: ObjectKey) =>
        name === place.name && namespace === place.namespace,
    },
  ];
  await runSyncLoop(
    { ...parts, name: "bootstrapsigner", watches, intervalMs: INTERVAL_MS, sync },
    signal,
  );
}

function isSame(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
