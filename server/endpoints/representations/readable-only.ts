/**
 * Where a form of a stored object cannot be made (another version of it, Protobuf, a row of a table),
 * the object is not what its kind is: readable JSON of a wrong shape. The one place that turns whatever
 * a conversion or an encoder throws into the answer for objects that cannot be read, for get, list,
 * watch and the answers of writes alike.
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { unreadableObjects } from "../../api/status.js";
import type { Representation } from "../representation.js";

/** @returns a representation that throws nothing but 500 StoreReadError for an object */
export function readableOnly(made: Representation): Representation {
  // Bytes that go out as they are cannot fail.
  if (made.isStoredForm) return made;
  const { itemBytes } = made;
  return {
    ...made,
    putObject: (out, object) => read(object, () => made.putObject(out, object)),
    putItem: (out, object, isFirst) => read(object, () => made.putItem(out, object, isFirst)),
    putEvent: (out, type, object, isFirst) =>
      read(object, () => made.putEvent(out, type, object, isFirst)),
    ...(itemBytes === undefined
      ? {}
      : { itemBytes: (object: StoredObject) => read(object, () => itemBytes(object)) }),
  };
}

function read<T>(object: StoredObject, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw unreadableObjects([object.path], error);
  }
}
