/**
 * The key of an object in the store: `<prefix>/<group or core>/<resource>/[<namespace>/]<name>`.
 *
 * A *partition* is all objects of one group and resource, `<group or core>/<resource>`; the rest of
 * the key is the object's path. Namespaces and names never contain a slash, so byte order of keys is
 * namespace, then name: the order of lists.
 *
 * Beside the objects are *epochs*, `<prefix>/.epoch/<name>`: keys without content whose revision is
 * that of the last change. No group begins with a dot, so they are never taken for objects.
 *
 * Below `<prefix>/.control-planes/<uid>/` lies another registry, with all that this one has. Its keys are
 * no objects of this one. `<prefix>/.control-plane-keys/<uid>` is what its values are encrypted with, if it has a
 * key of its own: not below its prefix, so that a copy of that is worth nothing without it.
 */

/** "core/configmaps" or "apps/deployments". */
export type PartitionId = string;

export function partitionId(group: string, resource: string): PartitionId {
  return `${group === "" ? "core" : group}/${resource}`;
}

/** "default/web" or "web": the key of an object inside its partition. */
export function objectPath(namespace: string, name: string): string {
  // A template's result is a pair of strings until it is read, and V8 compares such pairs, step by step of the
  // tree, outside of compiled code.
  return namespace === "" ? name : [namespace, name].join("/");
}

/** A parsed key: its partition, and the object in it. */
export interface ParsedKey {
  readonly partition: PartitionId;
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
}

const EPOCHS = ".epoch/";
const PARTS = ".control-planes/";
/** Sorts before the registries below, so that nothing that reads objects comes across it. */
const PART_KEYS = ".control-plane-keys/";
const DOT = 0x2e;

/** The keys below one prefix ("/registry"). */
export class KeySpace {
  /** With a trailing slash. */
  readonly prefix: string;

  constructor(prefix: string) {
    const trimmed = prefix.replace(/^\/+|\/+$/g, "");
    this.prefix = trimmed === "" ? "/" : `/${trimmed}/`;
  }

  key(partition: PartitionId, path: string): string {
    return `${this.prefix}${partition}/${path}`;
  }

  /** The prefix of all keys of a partition. */
  partitionPrefix(partition: PartitionId): string {
    return `${this.prefix}${partition}/`;
  }

  /** The prefix of the keys of all registries below this one. */
  get partsPrefix(): string {
    return this.prefix + PARTS;
  }

  /** The prefix of the encryption keys of registries below this one, which end with their ids. */
  get partKeysPrefix(): string {
    return this.prefix + PART_KEYS;
  }

  /**
   * All objects and epochs of this registry lie behind this key, and all registries below it before. Groups and
   * epochs sort behind it; the bookkeeping before it is neither.
   */
  get ownAfter(): string {
    return `${this.prefix}${PARTS.slice(0, -1)}0`;
  }

  /** @param name no slash in it */
  epochKey(name: string): string {
    return `${this.prefix}${EPOCHS}${name}`;
  }

  /** The epoch's name; undefined for any other key. */
  parseEpoch(key: string): string | undefined {
    const start = this.prefix.length + EPOCHS.length;
    return key.startsWith(EPOCHS, this.prefix.length) ? key.slice(start) : undefined;
  }

  /** The partition of an object's key; undefined for a key that cannot be an object's. */
  partitionOf(key: string): PartitionId | undefined {
    if (!key.startsWith(this.prefix) || key.charCodeAt(this.prefix.length) === DOT)
      return undefined;
    const groupEnd = key.indexOf("/", this.prefix.length);
    const resourceEnd = groupEnd < 0 ? -1 : key.indexOf("/", groupEnd + 1);
    return resourceEnd < 0 ? undefined : key.slice(this.prefix.length, resourceEnd);
  }

  /** undefined for a key that is not an object's, such as one of our own bookkeeping. */
  parse(key: string): ParsedKey | undefined {
    const partition = this.partitionOf(key);
    if (partition === undefined) return undefined;
    const path = key.slice(this.prefix.length + partition.length + 1);
    const slash = path.indexOf("/");
    if (path === "" || path.indexOf("/", slash + 1) > slash) return undefined;
    return {
      partition,
      path,
      namespace: slash < 0 ? "" : path.slice(0, slash),
      name: path.slice(slash + 1),
    };
  }
}
