/**
 * Wiring of the certificate authorities: replicas on etcd share theirs through it; the embedded store
 * serves one machine, which keeps them in files.
 */
import type { Logger } from "../../storage/base/logger.js";
import { type SharedValueStore, UnreadableValueError } from "../../storage/kv/shared-value.js";
import type { Authorities } from "../certificates/certificates.js";
import { openSharedAuthorities } from "../certificates/shared-authorities.js";
import type { Config } from "../config/config.js";

/** Reads the shared authorities; undefined when there are none. @throws {StorageError} */
export type ReadAuthorities = (signal: AbortSignal) => Promise<Authorities | undefined>;

/** The key of the shared authorities. */
export function authoritiesKeyOf({ etcdPrefix }: Config): string {
  return `${etcdPrefix}/.certificate-authorities`;
}

export function createReadAuthorities(parts: {
  readonly config: Config;
  readonly store: SharedValueStore;
  readonly logger: Logger;
}): ReadAuthorities {
  const { config, store, logger } = parts;
  return async (signal) => {
    if (config.isEmbedded) return undefined;
    try {
      return await openSharedAuthorities(store, authoritiesKeyOf(config), new Date(), signal);
    } catch (error) {
      // Wrong encryption keys are no outage: this replica continues with its own authorities.
      if (!(error instanceof UnreadableValueError)) throw error;
      logger.error({ err: error }, "who trusts the other replicas does not trust this one");
      return undefined;
    }
  };
}
