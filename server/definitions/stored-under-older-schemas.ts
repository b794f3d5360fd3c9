/**
 * Objects stored before their definition changed are served by the current schema: removed fields are
 * dropped, new defaults are filled in. The stored objects stay unchanged until somebody writes them.
 *
 *   revision  5   object a stored                  served with the default: judged by an older schema
 *             7   definition changed, a default    (objects of the view keep their bytes)
 *             9   object b stored                  served as it is: its transaction proved that it was
 *                                                  judged by the definition of revision 7
 *
 * So a comparison of revisions tells which objects to convert, and the results are cached.
 */
import type { Revision } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../api/meta.js";
import { StatusError } from "../api/status.js";
import type { Conversion } from "../kinds/conversion.js";
import { parseJson } from "../schema/parse-json.js";
import type { CustomCodec } from "./custom-codec.js";

export interface SchemaChange {
  /** The codec of the stored version. */
  readonly storedCodec: CustomCodec;
  /** The codec of the served version: the same, or one with another name. */
  readonly codec: CustomCodec;
  /** The definition's revision at its last schema change. */
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
    ...(isStoredVersion
      ? { ofEnded: renewed }
      : { settle: (judged: ApiObject) => today(judged as unknown as JsonValue) }),
  };
}

/** The object by the current schema of its version. */
export function refreshed(stored: JsonValue, codec: CustomCodec): ApiObject {
  const { object } = codec.decode(stored, { dropsInvalid: true });
  try {
    codec.applyDefaults(object);
  } catch (error) {
    // Defaults of many megabytes that came later: it is served with as many as fit.
    if (!(error instanceof StatusError)) throw error;
  }
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

/** The object with another text; the same object if that is equal. */
export function reencoded(object: StoredObject, text: string): StoredObject {
  const bytes = Buffer.from(`${text}\n`);
  if (bytes.equals(object.bytes)) return object;
  return object.with({ bytes, bodyOffset: text.indexOf('"metadata":{') });
}
