/**
 * ObjectPatterns: objects that many registries of one process have alike, such as default roles and definitions, kept
 * once. A registry's own is then its differences to the pattern: uid, revision, times.
 *
 *   pattern    ClusterRole "view", 4 KiB
 *   shop       ClusterRole "view", 90 bytes | the pattern
 *   bank       ClusterRole "view", 90 bytes | the pattern
 *
 * Whoever finds none that is alike becomes one. A pattern that is forgotten lives as long as objects build on it.
 */
import { LRUCache } from "lru-cache";
import type { BytePlacer } from "./byte-arena.js";
import { Slabs } from "./byte-arena.js";
import type { PartitionId } from "./keys.js";
import type { StoredObject } from "./stored-object.js";

/** Names that have patterns at a time, and all their bytes. */
const NAMES_MAX = 4_000;
const BYTES_MAX = 32 * 1024 * 1024;
/** Patterns of one name: registries may have different versions of a definition. */
const ALIKE_MAX = 3;
/** Smaller objects are hardly larger than their differences. */
const LENGTH_MIN = 200;
const SLAB_BYTES = 64 * 1024;

export class ObjectPatterns {
  readonly #isShared: (partition: PartitionId, path: string) => boolean;
  readonly #byName = new LRUCache<string, readonly StoredObject[]>({
    max: NAMES_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: (patterns) => patterns.reduce((sum, { length }) => sum + length, 1),
  });
  readonly #slabs = new Slabs(SLAB_BYTES);

  /** @param isShared whether objects of that name are alike in many registries */
  constructor(isShared: (partition: PartitionId, path: string) => boolean) {
    this.#isShared = isShared;
  }

  /** Bytes of all patterns. */
  get bytes(): number {
    return this.#byName.calculatedSize;
  }

  isShared(partition: PartitionId, path: string): boolean {
    return this.#isShared(partition, path);
  }

  /**
   * Reduces an object to its differences to a pattern.
   * @param slabs for the differences
   * @returns whether it was; else it has to be kept whole
   */
  reduce(partition: PartitionId, object: StoredObject, slabs: BytePlacer): boolean {
    if (object.length < LENGTH_MIN || !this.#isShared(partition, object.path)) return false;
    // Where revisions have as many digits, everything behind them is at the same place.
    const name = `${String(object.revision).length} ${partition} ${object.path}`;
    const known = this.#byName.get(name) ?? [];
    if (known.some((pattern) => object.resemble(pattern, slabs))) return true;
    const pattern = object.with({ bytes: object.bytes });
    pattern.moveTo(this.#slabs);
    this.#byName.set(name, [pattern, ...known.slice(0, ALIKE_MAX - 1)]);
    return object.resemble(pattern, slabs);
  }
}
