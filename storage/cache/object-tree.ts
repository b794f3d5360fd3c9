/**
 * ObjectTree: the objects of one partition in key order, with copies that cost nothing until one
 * side changes (copy on write). Only the feed writes; readers hold copies. It also counts its
 * objects' bytes and keeps the set of unreadable objects, so every copy has both.
 */
import sortedBTree from "sorted-btree";
import { KeyOrder } from "../kv/key-order.js";
import type { StoredObject } from "../objects/stored-object.js";

// The package is CommonJS, so Node sees its default export one level deeper.
const BTree = sortedBTree.default;
type Tree = InstanceType<typeof BTree<string, StoredObject>>;

/** Above all names in ASCII by its first character, and like them of one-byte characters: V8 compares such strings fastest. */
const AFTER_ASCII = "\xff";
/** The character behind "/": closes the range of a namespace. */
const AFTER_SLASH = "0";

/** Return it from a visitor to stop. */
export const STOP = Symbol("stop");

const BREAK = { break: true };
const NO_PATHS: ReadonlySet<string> = new Set();

export class ObjectTree {
  readonly #tree: Tree;
  #bytes: number;
  /** The namespace of the last object put: its neighbours mostly share it. */
  #namespace = "";
  /** Replaced, never changed: copies share it. */
  #corrupt: ReadonlySet<string>;

  /** Shared by all copies. */
  readonly #order: KeyOrder;

  constructor(original?: ObjectTree) {
    if (original === undefined) {
      this.#order = new KeyOrder();
      this.#tree = new BTree<string, StoredObject>(undefined, this.#order.compare);
      this.#bytes = 0;
      this.#corrupt = NO_PATHS;
    } else {
      this.#order = original.#order;
      this.#tree = original.#tree.clone();
      this.#bytes = original.#bytes;
      this.#corrupt = original.#corrupt;
    }
  }

  get size(): number {
    return this.#tree.size;
  }

  /** Bytes of all objects. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Paths of the objects that cannot be read. */
  get corrupt(): ReadonlySet<string> {
    return this.#corrupt;
  }

  get(path: string): StoredObject | undefined {
    return this.#tree.get(path);
  }

  /** @returns what was there before */
  set(object: StoredObject): StoredObject | undefined {
    this.#order.note(object.path);
    const previous = this.#tree.get(object.path);
    object.shareNames(previous, this.#namespace);
    this.#namespace = object.namespace;
    this.#tree.set(object.path, object);
    this.#account(previous, object);
    return previous;
  }

  /** @returns what was there */
  delete(path: string): StoredObject | undefined {
    const previous = this.#tree.get(path);
    if (previous === undefined) return undefined;
    this.#tree.delete(path);
    this.#account(previous, undefined);
    return previous;
  }

  /** A copy in constant time; both sides may change afterwards without the other seeing it. */
  snapshot(): ObjectTree {
    return new ObjectTree(this);
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
    const isAll = namespace === "";
    const low = isAll ? "" : `${namespace}/`;
    const high = isAll ? this.#highest() : `${namespace}${AFTER_SLASH}`;
    const from = this.#order.compare(after, low) > 0 ? after : low;
    let mayBeAfter = true;
    // The library ends the walk on `{ break }`; its type says void only for callers without one.
    this.#tree.forRange(from, high, isAll, (path: string, object: StoredObject): unknown => {
      if (mayBeAfter) {
        mayBeAfter = false;
        if (path === after) return undefined;
      }
      return visitor(object) === STOP ? BREAK : undefined;
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

  /** A path that none is above. */
  #highest(): string {
    const last = this.#tree.maxKey() ?? "";
    return last < AFTER_ASCII ? AFTER_ASCII : last;
  }

  #account(previous: StoredObject | undefined, next: StoredObject | undefined): void {
    this.#bytes += (next?.length ?? 0) - (previous?.length ?? 0);
    const isCorrupt = next?.corruption !== undefined;
    if (isCorrupt === (previous?.corruption !== undefined)) return;
    const corrupt = new Set(this.#corrupt);
    if (isCorrupt) corrupt.add(next.path);
    else if (previous !== undefined) corrupt.delete(previous.path);
    this.#corrupt = corrupt;
  }
}
