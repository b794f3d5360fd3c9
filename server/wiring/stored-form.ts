/** Wiring of the form of objects in the store (--storage-media-type); before encryption seals them. */
import { ConvertingStore } from "../../storage/kv/converting-store.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import { KeySpace } from "../../storage/objects/keys.js";
import { createStoredForm } from "../codec/stored-form.js";
import type { Config } from "../config/config.js";

/** Also reads what an earlier setting has written. */
export function withStoredForm(config: Config, store: RevisionedStore): RevisionedStore {
  const keys = new KeySpace(config.etcdPrefix);
  const conversion = createStoredForm({
    isCbor: config.storageMediaType === "application/cbor",
    isObject: (key) => keys.parse(key) !== undefined,
  });
  return new ConvertingStore(store, conversion);
}
