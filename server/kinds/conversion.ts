/** Conversion: between the shapes of one kind in two of its versions. Pure functions. */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";

/** Between the served and the stored group-version, where they differ. */
export interface Conversion {
  toStored(served: ApiObject): ApiObject;
  fromStored(stored: ApiObject): ApiObject;
  /** The same for what the view holds, where most of it is served as it is; remembers what is not. */
  ofView?(stored: StoredObject): StoredObject;
}

/** For versions that have one shape: their codecs write their names. */
export const SAME_SHAPE: Conversion = Object.freeze({
  toStored: (object: ApiObject) => object,
  fromStored: (object: ApiObject) => object,
});
