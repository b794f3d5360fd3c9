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
  const known = new WeakMap<StoredObject, StoredObject>();
  const isStoredVersion = codec === storedCodec;
  const today = (stored: JsonValue) => refreshed(stored, storedCodec);
  const renewed = (object: StoredObject) =>
    remembered(known, object, () =>
      reencoded(object, codec.encode(today(parseJson(object.bytes)))),
    );
  return {
    toStored: (served) => served,
    fromStored: (stored) => today(stored as unknown as JsonValue),
    renew: (stored, storedAt) =>
      storedAt > revision ? stored : today(stored as unknown as JsonValue),
    ofView: (object) => (isStoredVersion && object.revision > revision ? object : renewed(object)),
    ...(isStoredVersion && { ofEnded: renewed }),
  };
}

/** As the schema of its version has it now. */
export function refreshed(stored: JsonValue, codec: CustomCodec): ApiObject {
  const { object } = codec.decode(stored);
  codec.applyDefaults(object);
  return object;
}

export function remembered(
  known: WeakMap<StoredObject, StoredObject>,
  object: StoredObject,
  make: () => StoredObject,
): StoredObject {
  let made = known.get(object);
  if (made === undefined) {
    made = make();
    known.set(object, made);
  }
  return made;
}

/** The object with another text; itself where that is the same. */
export function reencoded(object: StoredObject, text: string): StoredObject {
  const bytes = Buffer.from(`${text}\n`);
  if (bytes.equals(object.bytes)) return object;
  return object.with({ bytes, bodyOffset: text.indexOf('"metadata":{') });
}
