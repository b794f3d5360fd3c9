/**
 * Wiring of the keys of single control planes: with a rule for `keys.tenancy.k8s.io` in --encryption-provider-config each
 * one below the root gets a key when it is first loaded. All of its values are encrypted with that key, and the key with the
 * rule's. It is deleted with the ControlPlane, before the content.
 */
import { randomBytes } from "node:crypto";
import {
  createCipher,
  SECRET_BYTES,
  type ValueCipher,
} from "../../storage/encryption/value-cipher.js";
import { openSharedValue, type SharedValueStore } from "../../storage/kv/shared-value.js";
import { KeySpace, type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { Naming } from "../api/naming.js";
import type { Config } from "../config/config.js";
import { controlPlaneGroup } from "../control-planes/definition.js";

/** What a rule names them by; no API serves it. */
export function partKeysPartition(naming: Naming): PartitionId {
  return partitionId(controlPlaneGroup(naming), "keys");
}

export interface PartKeyParts {
  /** The root's, which encrypts. */
  readonly store: SharedValueStore;
  readonly config: Config;
  /** Whether there is a rule; a key that is there is used without one, too. */
  readonly isWanted: boolean;
}

const CIPHER = "aesgcm";
const NAME = "control-plane";
const BYTES = Math.max(...SECRET_BYTES[CIPHER]);

/** Undefined = it has none, and gets none. @throws {StorageError}; {UnreadableValueError} */
export async function openPartKey(
  { store, config, isWanted }: PartKeyParts,
  uid: string,
  signal: AbortSignal,
): Promise<ValueCipher | undefined> {
  const key = new KeySpace(config.etcdPrefix).partKeysPrefix + uid;
  if (!isWanted && (await store.get(key, {}, signal)).kv === undefined) return undefined;
  const make = async () => randomBytes(BYTES);
  const what = "the key of a control plane";
  const secret = await openSharedValue(store, { key, what, make }, signal);
  const prefix = Buffer.from(`${config.naming.encryptionPrefix}${CIPHER}:v1:${NAME}:`, "utf8");
  return createCipher(CIPHER, prefix, secret);
}
