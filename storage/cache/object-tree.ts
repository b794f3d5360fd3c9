/**
 * ObjectTree: the objects of one partition in key order, with copies that cost nothing until one
 * side changes (copy on write). Writers are the feed alone; readers hold copies.
 */
import sortedBTree from "sorted-btree";
import type { StoredObject } from "../objects/stored-object.js";

// The package is CommonJS, so Node sees its default export one level deeper.
const BTree = sortedBTree.default;
type Tree = InstanceType<typeof BTree<string, StoredObject>>;

/** Above every character that a name may have; closes the range of a namespace. */
const AFTER_ALL_NAMES = "\u{10ffff}";

/** Return it from a visitor to stop. */
export const STOP = Symbol("stop");

export class ObjectTree {
  readonly #tree: Tree;

  constructor(tree?: Tree) {
    this.#tree = tree ?? new BTree<string, StoredObject>(undefined, compareStrings);
  }

  get size(): number {
    return this.#tree.size;
  }

  get(path: string): StoredObject | undefined {
    return this.#tree.get(path);
  }

  set(object: StoredObject): void {
    this.#tree.set(object.path, object);
  }

  delete(path: string): void {
    this.#tree.delete(path);
  }

  /** A copy in constant time; both sides may change afterwards without the other seeing it. */
  snapshot(): ObjectTree {
    return new ObjectTree(this.#tree.clone());
  }

  /**
   * Visits objects in order.
   * @param namespace "" = all
   * @param after only paths strictly after it; "" = from the start
   */
  visit(
    namespace: string,
    after: string,
    visitor: (object: StoredObject) => typeof STOP | undefined,
  ): void {
    const low = namespace === "" ? "" : `${namespace}/`;
    const high = namespace === "" ? AFTER_ALL_NAMES : `${namespace}/${AFTER_ALL_NAMES}`;
    const from = after > low ? after : low;
    // The library ends the walk on `{ break }`; its type says void only for callers without one.
    this.#tree.forRange(from, high, false, (path: string, object: StoredObject): unknown => {
      if (path === after) return undefined;
      return visitor(object) === STOP ? { break: true } : undefined;
    });
  }

  /** All paths in order. */
  paths(): Iterable<string> {
    return this.#tree.keys();
  }

  /** How many objects of the namespace come after a path. */
  count(namespace: string, after: string): number {
    if (namespace === "" && after === "") return this.#tree.size;
    let count = 0;
    this.visit(namespace, after, () => {
      count++;
      return undefined;
    });
    return count;
  }
}

/** Code unit order: the byte order of keys for all names but those beyond the basic plane. */
function compareStrings(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
