/**
 * The loop `tokencleaner`: deletes Secrets of expired bootstrap tokens (S2-BOOT-12). Until then
 * authenticator and signer check the expiry themselves.
 */
import type { Naming } from "../api/naming.js";
import { expirationOf, hasExpired } from "../authn/bootstrap-secret.js";
import { BootstrapSecrets } from "./bootstrap-secrets.js";
import { eachInTurn } from "./each-in-turn.js";
import type { ObjectKey } from "./objects-api.js";
import { type LoopParts, runSyncLoop } from "./sync-loop.js";

/** Expiries are awaited; the interval is for clock adjustments. */
const INTERVAL_MS = 60_000;

/** Runs until the signal aborts. */
export async function runTokenCleaner(
  { naming, ...parts }: LoopParts & { readonly naming: Naming },
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock } = parts;
  const { systemNamespace } = naming;
  const secrets = new BootstrapSecrets(objects, naming);
  const sync = async (): Promise<number> => {
    let nextMs = Number.POSITIVE_INFINITY;
    await eachInTurn(secrets.list(), async (secret) => {
      const nowMs = clock.now();
      const expiresAtMs = expirationOf(secret, naming);
      const { uid = "", name = "", deletionTimestamp } = secret.metadata;
      if ((deletionTimestamp ?? "") !== "") return;
      if (hasExpired(expiresAtMs, nowMs)) {
        const options = { uid, propagationPolicy: "Background" } as const;
        const key = { namespace: systemNamespace, name };
        await objects.remove(secrets.resource, key, options, signal);
      } else {
        nextMs = Math.min(nextMs, expiresAtMs - nowMs);
      }
    });
    return nextMs;
  };
  const watches = [{ resource: secrets.resource, concerns: (key: ObjectKey) => secrets.note(key) }];
  await runSyncLoop(
    { ...parts, name: "tokencleaner", watches, intervalMs: INTERVAL_MS, sync },
    signal,
  );
}
