/**
 * The authorities that all replicas of one etcd share, so that any number of them on a fresh etcd
 * needs no file at all: a client that trusts one trusts all, and the administrator of one is known to
 * all. They lie in the store beside the key that signs tokens, sealed like it, and are replaced a
 * month before their end by whichever replica sees it first.
 */
import { openSharedValue, type SharedValueStore } from "../../storage/kv/shared-value.js";
import { type Authorities, isUsable, makeAuthorities, parseIdentity } from "./certificates.js";

/** Between the two identities of the stored text, each of which is a key and a certificate as PEM. */
const SEPARATOR = "# client authority\n";

/**
 * @param key below the registry's prefix and no object's: "/registry/.certificate-authorities"
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
    make: async () => encode(await makeAuthorities(now)),
    isGood: (value: Buffer) => isGood(decode(value), now),
  };
  const authorities = decode(await openSharedValue(store, options, signal));
  // Another replica may have been faster, with authorities that are as good.
  if (authorities === undefined)
    throw new Error(`what the store holds at ${key} are no authorities`);
  return authorities;
}

function isGood(authorities: Authorities | undefined, now: Date): boolean {
  if (authorities === undefined) return false;
  return isUsable(authorities.serving, now) && isUsable(authorities.client, now);
}

function encode({ serving, client }: Authorities): Buffer {
  return Buffer.from(serving.key + serving.cert + SEPARATOR + client.key + client.cert);
}

function decode(value: Buffer): Authorities | undefined {
  const [first = "", second = ""] = value.toString("utf8").split(SEPARATOR);
  const [serving, client] = [parseIdentity(first), parseIdentity(second)];
  return serving === undefined || client === undefined ? undefined : { serving, client };
}
