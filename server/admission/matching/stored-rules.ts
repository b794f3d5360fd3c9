/**
 * StoredRules: what one kind of configuration says now, as an index. Fed by the view in the turn of
 * the feed; what changed is read again when somebody next asks, so a burst of changes costs once.
 */
import type { Partition } from "../../../storage/cache/partition.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import type { Catalog } from "../../kinds/catalog.js";
import { CriteriaIndex, type Entry } from "./criteria-index.js";

/** What one stored object says; an empty list for what it is not about. */
export type ReadRules<T> = (object: ApiObject) => readonly Entry<T>[];

export class StoredRules<T> {
  readonly #read: ReadRules<T>;
  readonly #catalog: () => Catalog;
  /** By name; undefined = to be read. */
  readonly #objects = new Map<string, StoredObject>();
  readonly #rules = new WeakMap<StoredObject, readonly Entry<T>[]>();
  readonly #listeners: (() => void)[] = [];
  #index: CriteriaIndex<T> | undefined;
  #catalogSeen: Catalog | undefined;

  constructor(partition: Pick<Partition, "observe">, read: ReadRules<T>, catalog: () => Catalog) {
    this.#read = read;
    this.#catalog = catalog;
    partition.observe({
      replaced: (tree) => {
        this.#objects.clear();
        tree.visit("", "", (object) => {
          this.#objects.set(object.path, object);
          return undefined;
        });
        this.#changed();
      },
      put: (object) => {
        this.#objects.set(object.path, object);
        this.#changed();
      },
      deleted: ({ path }) => {
        this.#objects.delete(path);
        this.#changed();
      },
    });
  }

  get size(): number {
    return this.#objects.size;
  }

  /** In the order of names, and within an object in its own. */
  get index(): CriteriaIndex<T> {
    const catalog = this.#catalog();
    // Another catalog may know other versions of what rules name.
    if (this.#index === undefined || catalog !== this.#catalogSeen) {
      this.#catalogSeen = catalog;
      const sorted = [...this.#objects.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
      this.#index = new CriteriaIndex(
        sorted.flatMap((object) => this.#rulesOf(object)),
        this.#catalog,
      );
    }
    return this.#index;
  }

  /** Told in the turn of the feed. */
  subscribe(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** What was read of an object is kept as long as the object. */
  #rulesOf(object: StoredObject): readonly Entry<T>[] {
    let rules = this.#rules.get(object);
    if (rules === undefined) {
      const isReadable = object.corruption === undefined;
      rules = isReadable ? this.#read(JSON.parse(object.bytes.toString("utf8")) as ApiObject) : [];
      this.#rules.set(object, rules);
    }
    return rules;
  }

  #changed(): void {
    this.#index = undefined;
    for (const listener of this.#listeners) listener();
  }
}
