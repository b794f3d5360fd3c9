/**
 * The contract of whoever follows a partition of the view: indexes that admission, authorization and the catalog
 * read. They are called in one place (guarded-observer.ts).
 */
import type { StoredObject } from "../objects/stored-object.js";
import type { ObjectTree } from "./object-tree.js";

/**
 * Follows a partition in the same turn in which the feed changes it. An index beside the view is
 * therefore never behind it: a caller that waited for a revision finds the index there as well. Must
 * be quick. Who throws at an object is told that it is gone (guarded-observer.ts).
 */
export interface PartitionObserver {
  /** Everything reported before is void; `objects` is the new state. */
  replaced(objects: ObjectTree): void;
  put(object: StoredObject, previous: StoredObject | undefined): void;
  deleted(previous: StoredObject): void;
}
