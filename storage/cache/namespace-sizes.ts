/**
 * NamespaceSizes: the number and bytes of a partition's objects per namespace, so that the cost of a
 * list is known without a walk. The feed keeps it current. A partition without namespaces has one
 * entry.
 */
import { assert } from "../base/assert.js";
import type { StoredObject } from "../objects/stored-object.js";

export interface CollectionSize {
  readonly size: number;
  readonly bytes: number;
}

const NOTHING: CollectionSize = Object.freeze({ size: 0, bytes: 0 });

export class NamespaceSizes {
  /** Made for the first object: a process may have a thousand times sixty empty partitions. */
  #sizes: Map<string, { size: number; bytes: number }> | undefined;

  of(namespace: string): CollectionSize {
    return this.#sizes?.get(namespace) ?? NOTHING;
  }

  clear(): void {
    this.#sizes = undefined;
  }

  /** @param previous what it replaces, of the same namespace */
  put({ namespace, length }: StoredObject, previous: StoredObject | undefined): void {
    this.#sizes ??= new Map();
    const known = this.#sizes.get(namespace);
    if (known === undefined) {
      this.#sizes.set(namespace, { size: 1, bytes: length });
      return;
    }
    known.bytes += length - (previous?.length ?? 0);
    if (previous === undefined) known.size++;
  }

  delete({ namespace, length }: StoredObject): void {
    const known = this.#sizes?.get(namespace);
    assert(known !== undefined, "NamespaceOfObjectIsCounted");
    known.size--;
    known.bytes -= length;
    assert(known.size > 0 || known.bytes === 0, "NamespaceBytesAreCounted");
    if (known.size === 0) this.#sizes?.delete(namespace);
  }
}
