/**
 * Wiring of the stored form of objects: JSON or CBOR (--storage-media-type), and the stored version;
 * applied before encryption.
 */
import { ConvertingStore, type ValueConversion } from "../../storage/kv/converting-store.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import { KeySpace } from "../../storage/objects/keys.js";
import { createStoredForm } from "../codec/stored-form.js";
import type { Config } from "../config/config.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import { createStoredVersions, type VersionsByPartition } from "../registry/stored-versions.js";
import type { Facts } from "../schema/model.js";

/** Also reads the forms of earlier settings and releases. */
export function withStoredForm(
  config: Config,
  { facts, byPartition }: { readonly facts: Facts; readonly byPartition: VersionsByPartition },
  store: RevisionedStore,
): ConvertingStore {
  const keys = new KeySpace(config.etcdPrefix);
  const form = createStoredForm({
    isCbor: config.storageMediaType === "application/cbor",
    isObject: (key) => keys.parse(key) !== undefined,
  });
  const versions = createStoredVersions({
    byPartition,
    codecs: () => createFactsCodecs(facts),
    partitionOf: (key) => keys.partitionOf(key),
  });
  const conversion: ValueConversion = {
    toStored: form.toStored,
    fromStored: (key, value) => versions.toCurrent(key, form.fromStored(key, value)),
    isStale(key, value) {
      if (form.isStale?.(key, value) === true) return true;
      return versions.isOlder(key, readable(form, key, value));
    },
  };
  return new ConvertingStore(store, conversion);
}

const NOTHING = Buffer.alloc(0);

function readable(form: ValueConversion, key: string, value: Buffer): Buffer {
  try {
    return form.fromStored(key, value);
  } catch {
    return NOTHING;
  }
}
