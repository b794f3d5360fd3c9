/**
 * Wiring of tokens of service accounts whose control plane is suspended: who has one is told so, and not that the token
 * is worth nothing, which ends many clients for good. Nothing is loaded for it but the key that signs.
 *
 * Whether the account, or the Secret of a legacy token, is still there is not looked at: all that is told is that the control plane is suspended.
 */
import type { IncomingMessage } from "node:http";
import { LRUCache } from "lru-cache";
import { bearerTokenOf } from "../authn/bearer-token.js";
import { parseCompactToken } from "../authn/service-account/compact-token.js";
import { legacyIssuer } from "../authn/service-account/token-claims.js";
import type { ControlPlaneEntry } from "../control-planes/control-plane-index.js";
import { controlPlaneConfig } from "./control-plane-config.js";
import type { LoadParts } from "./load-control-plane.js";
import { openTokenKeys, type TokenKeys } from "./token-keys.js";

/** Keys that are kept, by uid. */
const KEYS_MAX = 100;
const READ_MS_MAX = 5_000;

/** @returns whether a request has a token that the control plane has signed, and whose time is not over */
export function createSuspendedTokens({
  config,
  clock,
  storage,
  logger,
}: Pick<LoadParts, "config" | "clock" | "storage" | "logger">) {
  const known = new LRUCache<string, Promise<TokenKeys>>({ max: KEYS_MAX });
  const read = async (entry: ControlPlaneEntry): Promise<TokenKeys> => {
    const { encryption, plain } = storage;
    const own = controlPlaneConfig(config, entry);
    const signal = AbortSignal.timeout(READ_MS_MAX);
    const below = await encryption?.below({ config: own, store: plain, uid: entry.uid }, signal);
    try {
      const keyParts = { config: own, clock, store: below?.store ?? plain, logger };
      return await openTokenKeys({ ...keyParts, keyType: "ec" }, signal);
    } finally {
      below?.release();
    }
  };
  const keysOf = (entry: ControlPlaneEntry): Promise<TokenKeys> => {
    const before = known.get(entry.uid);
    if (before !== undefined) return before;
    const reading = read(entry);
    known.set(entry.uid, reading);
    reading.catch(() => known.delete(entry.uid));
    return reading;
  };
  return async (entry: ControlPlaneEntry, { headers }: IncomingMessage): Promise<boolean> => {
    const token = parseCompactToken(bearerTokenOf(headers) ?? "");
    if (token === undefined) return false;
    const { iss, exp } = token.claims;
    // A legacy token names no issuer of its own and has no end: the signature says of which control plane it is.
    const isLegacy = iss === legacyIssuer(config.naming) && exp === undefined;
    const isOurs = controlPlaneConfig(config, entry).serviceAccountIssuer.some(
      (one) => one === iss,
    );
    const isInTime = typeof exp === "number" && exp * 1_000 > clock.now();
    if (!isLegacy && !(isOurs && isInTime)) return false;
    const { keys } = await keysOf(entry);
    return keys.verifies(token.header, token.signedText, token.signature);
  };
}
