/**
 * The one place where those are called who follow a partition. Whoever throws at an object loses that object and
 * keeps all others: an odd object, written past the server or by another release, must not stop what everybody
 * needs, neither now nor at the next start. What failed is reported; the follower is told that the object is gone.
 */
import type { StoredObject } from "../objects/stored-object.js";
import { ObjectTree } from "./object-tree.js";
import type { PartitionObserver } from "./partition-observer.js";

/** @param failed told what could not be followed; undefined = no single object */
export function guardObserver(
  observer: PartitionObserver,
  failed: (object: StoredObject | undefined, error: unknown) => void,
): PartitionObserver {
  const deleted = (previous: StoredObject): void => {
    try {
      observer.deleted(previous);
    } catch (error) {
      failed(previous, error);
    }
  };
  const put = (object: StoredObject, previous: StoredObject | undefined): void => {
    try {
      observer.put(object, previous);
    } catch (error) {
      failed(object, error);
      deleted(previous ?? object);
    }
  };
  return {
    replaced(objects) {
      try {
        observer.replaced(objects);
        return;
      } catch {
        // One of the objects: told one by one, the others are followed.
      }
      try {
        observer.replaced(new ObjectTree());
      } catch (error) {
        failed(undefined, error);
      }
      objects.visit("", "", (object): undefined => put(object, undefined) as undefined);
    },
    put,
    deleted,
  };
}
