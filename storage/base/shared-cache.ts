/**
 * SharedCache: a cache with a bound of its own, whose bytes count to what all caches of its control plane, and of all control
 * planes, hold. Whatever is given up is what was unused for longest.
 */
import { LRUCache } from "lru-cache";
import { type Share, SharedBytes } from "./shared-bytes.js";

export interface SharedCacheOptions {
  readonly bytesMax: number;
  readonly entriesMax?: number;
  /** Default: it is alone. */
  readonly memory?: SharedBytes | undefined;
}

export class SharedCache<K extends object | string, V extends object | string> {
  readonly #entries: LRUCache<K, V>;
  readonly #memory: SharedBytes;
  readonly #share: Share;

  constructor({ bytesMax, entriesMax, memory = new SharedBytes(bytesMax) }: SharedCacheOptions) {
    this.#entries = new LRUCache({
      maxSize: bytesMax,
      ...(entriesMax !== undefined && { max: entriesMax }),
    });
    this.#memory = memory;
    this.#share = memory.open((bytes) => this.#shrink(bytes));
  }

  get bytes(): number {
    return this.#entries.calculatedSize;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** What is larger than the bound is not kept. @param bytes a whole number, of key and value */
  set(key: K, value: V, bytes: number): void {
    this.#entries.set(key, value, { size: bytes });
    this.#share.set(this.bytes);
    this.#memory.settle();
  }

  clear(): void {
    this.#entries.clear();
    this.#share.set(0);
  }

  #shrink(bytesMax: number): void {
    while (this.bytes > bytesMax) this.#entries.pop();
    this.#share.set(this.bytes);
  }
}
