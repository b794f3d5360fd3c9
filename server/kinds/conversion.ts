/** Conversion: between the shapes of one kind in two of its versions. Pure functions. */
import type { ApiObject } from "../api/meta.js";

/** Between the served and the stored group-version, where they differ. */
export interface Conversion {
  toStored(served: ApiObject): ApiObject;
  fromStored(stored: ApiObject): ApiObject;
}

/** For versions that have one shape: their codecs write their names. */
export const SAME_SHAPE: Conversion = Object.freeze({
  toStored: (object: ApiObject) => object,
  fromStored: (object: ApiObject) => object,
});
