/**
 * The authorities that all replicas of one etcd share, so that replicas on a fresh etcd need no
 * files: a client that trusts one replica trusts all, and all accept the administrator of one. They
 * are stored and encrypted like the token signing key. The first replica to notice replaces them a
 * month before they expire; one whose clock is behind keeps what it finds.
 */
import { openSharedValue, type SharedValueStore } from "../../storage/kv/shared-value.js";
import { type Authorities, isWornOut, makeAuthorities } from "./certificates.js";
import { formatIdentity, parseIdentity } from "./identity-files.js";

/** Separates the two stored identities, each of which is a PEM key and certificate. */
const SEPARATOR = "# client authority\n";

/**
 * @param key below the registry's prefix and outside the objects' keys:
 * "/registry/.certificate-authorities"
 * @throws {StorageError}; {UnreadableValueError}
 */
export async function openSharedAuthorities(
  store: SharedValueStore,
  key: string,
  now: Date,
  signal: AbortSignal,
): Promise<Authorities> {
  const options = {
    key,
    what: "the certificate authorities",
    make: async (older?: Buffer) => encode(await makeAuthorities(now, older && decode(older))),
    isGood: (value: Buffer) => isGood(decode(value), now),
  };
  const authorities = decode(await openSharedValue(store, options, signal));
  // Another replica may have been faster; its authorities are as good.
  if (authorities === undefined)
    throw new Error(`what the store holds at ${key} are no authorities`);
  return authorities;
}

function isGood(authorities: Authorities | undefined, now: Date): boolean {
  if (authorities === undefined) return false;
  return !isWornOut(authorities.serving, now) && !isWornOut(authorities.client, now);
}

function encode({ serving, client }: Authorities): Buffer {
  return Buffer.from(formatIdentity(serving) + SEPARATOR + formatIdentity(client));
}

function decode(value: Buffer): Authorities | undefined {
  const [first = "", second = ""] = value.toString("utf8").split(SEPARATOR);
  const [serving, client] = [parseIdentity(first), parseIdentity(second)];
  return serving === undefined || client === undefined ? undefined : { serving, client };
}
