/**
 * StoredRules: the current objects of one kind of configuration, as an index. The view updates it in the
 * turn of the feed; changed objects are parsed again on the next lookup, so a burst of changes costs once.
 * Rules from files come before those of the API, and stand alone for exempt resources.
 */

import type { Partition } from "../../../storage/cache/partition.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import type { Catalog } from "../../kinds/catalog.js";
import { parseJson } from "../../schema/parse-json.js";
import type { ManifestSource } from "../static/manifest-source.js";
import { CriteriaIndex, type Entry } from "./criteria-index.js";

/** Parses one object, stored or from a file, into its entries; empty for objects of no concern. */
export type ReadRules<T> = (object: ApiObject, isStatic: boolean) => readonly Entry<T>[];

export interface StoredRulesOptions<T> {
  readonly partition: Pick<Partition, "observe" | "cannotFollow">;
  readonly read: ReadRules<T>;
  readonly catalog: () => Catalog;
  readonly manifests: Pick<ManifestSource, "of" | "subscribe">;
  /** The resource of the configurations, such as "validatingadmissionpolicies". */
  readonly resource: string;
}

interface StaticEntries<T> {
  readonly catalog: Catalog;
  readonly objects: readonly ApiObject[];
  readonly index: CriteriaIndex<T>;
}

export class StoredRules<T> {
  readonly #partition: StoredRulesOptions<T>["partition"];
  readonly #read: ReadRules<T>;
  readonly #catalog: () => Catalog;
  readonly #manifests: () => readonly ApiObject[];
  /** By name, as they are stored; parsed on the next lookup. */
  readonly #objects = new Map<string, StoredObject>();
  readonly #rules = new WeakMap<StoredObject, readonly Entry<T>[]>();
  readonly #listeners: (() => void)[] = [];
  #index: CriteriaIndex<T> | undefined;
  #catalogSeen: Catalog | undefined;
  #static: StaticEntries<T> | undefined;

  constructor({ partition, read, catalog, manifests, resource }: StoredRulesOptions<T>) {
    this.#partition = partition;
    this.#read = read;
    this.#catalog = catalog;
    this.#manifests = () => manifests.of(resource);
    manifests.subscribe(() => this.#changed());
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

  /** The number of objects. @param isExempt whether rules of the API are left out */
  count(isExempt: boolean): number {
    return this.#manifests().length + (isExempt ? 0 : this.#objects.size);
  }

  indexFor(isExempt: boolean): CriteriaIndex<T> {
    return isExempt ? this.staticIndex : this.index;
  }

  /** The index of rules from files alone. */
  get staticIndex(): CriteriaIndex<T> {
    const catalog = this.#catalog();
    const objects = this.#manifests();
    const known = this.#static;
    if (known !== undefined && known.catalog === catalog && known.objects === objects) {
      return known.index;
    }
    const isSame = known?.objects === objects;
    const entries = isSame
      ? known.index.entries
      : objects.flatMap((object) => this.#read(object, true));
    const index = new CriteriaIndex(entries, this.#catalog);
    this.#static = { catalog, objects, index };
    return index;
  }

  /** Rules from files first, each group ordered by name and by position in its object. */
  get index(): CriteriaIndex<T> {
    const catalog = this.#catalog();
    // A new catalog may serve other versions of the resources that rules name.
    if (this.#index === undefined || catalog !== this.#catalogSeen) {
      this.#catalogSeen = catalog;
      const sorted = [...this.#objects.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
      this.#index = new CriteriaIndex(
        [...this.staticIndex.entries, ...sorted.flatMap((object) => this.#rulesOf(object))],
        this.#catalog,
      );
    }
    return this.#index;
  }

  /** The listener is called in the turn of the feed. */
  subscribe(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Entries are cached as long as their object. */
  #rulesOf(object: StoredObject): readonly Entry<T>[] {
    let rules = this.#rules.get(object);
    if (rules === undefined) {
      rules = object.corruption === undefined ? this.#readStored(object) : [];
      this.#rules.set(object, rules);
    }
    return rules;
  }

  /** An object that is not understood has no rules: it must not stop what others rule. */
  #readStored(object: StoredObject): readonly Entry<T>[] {
    try {
      return this.#read(parseJson(object.bytes) as unknown as ApiObject, false);
    } catch (error) {
      this.#partition.cannotFollow(object, error);
      return [];
    }
  }

  #changed(): void {
    this.#index = undefined;
    for (const listener of this.#listeners) listener();
  }
}
