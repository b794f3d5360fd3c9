/**
 * Objects that were stored before their definition changed are served as the definition is now: what it
 * does not have any more is dropped, what it has new defaults for is filled in. They stay as they are in
 * the store until somebody writes them.
 *
 *   revision  5   object a stored                  served with the default: judged by an older schema
 *             7   definition changed, a default    (objects of the view keep their bytes)
 *             9   object b stored                  served as it is: its transaction proved that it was
 *                                                  judged by the definition of revision 7
 *
 * So a comparison of revisions says what has to be looked at, and what was looked at is remembered.
 */
import type { Revision } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../api/meta.js";
import { parseJson } from "../codec/json.js";
import type { Conversion } from "../kinds/conversion.js";
import type { CustomCodec } from "./custom-codec.js";

export interface SchemaChange {
  /** Of the stored version. */
  readonly storedCodec: CustomCodec;
  /** Of the version that is served: the same codec, or one of another name. */
  readonly codec: CustomCodec;
  /** Of the definition, when its schemas were what they are. */
  readonly revision: Revision;
}

export function convertsOlder({ storedCodec, codec, revision }: SchemaChange): Conversion {
  const refresh = (stored: JsonValue): ApiObject => {
    const { object } = storedCodec.decode(stored);
    storedCodec.applyDefaults(object);
    return object;
  };
  const known = new WeakMap<StoredObject, StoredObject>();
  const isStoredVersion = codec === storedCodec;
  return {
    toStored: (served) => served,
    fromStored: (stored) => refresh(stored as unknown as JsonValue),
    renew: (stored, storedAt) =>
      storedAt > revision ? stored : refresh(stored as unknown as JsonValue),
    ofView(object) {
      if (isStoredVersion && object.revision > revision) return object;
      let served = known.get(object);
      if (served === undefined) {
        served = reencoded(object, codec.encode(refresh(parseJson(object.bytes))));
        known.set(object, served);
      }
      return served;
    },
  };
}

/** The object with another text; itself where that is the same. */
function reencoded(object: StoredObject, text: string): StoredObject {
  const bytes = Buffer.from(`${text}\n`);
  if (bytes.equals(object.bytes)) return object;
  return object.with({ bytes, bodyOffset: text.indexOf('"metadata":{') });
}
