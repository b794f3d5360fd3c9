/** ControlPlaneIndex: what the dispatch of requests has to know of each ControlPlane, changed in the turn of the feed. */
import type { ObjectTree } from "../../storage/cache/object-tree.js";
import type { PartitionObserver } from "../../storage/cache/partition-observer.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { parseJson } from "../schema/parse-json.js";
import { creatorAnnotation } from "./definition.js";

/** What it may have and do; absent = no limit. */
export interface ControlPlaneLimits {
  readonly objects?: number;
  readonly bytes?: number;
  readonly requests?: number;
  readonly watches?: number;
}

export interface CloneSource {
  readonly name: string;
  readonly resourceVersion?: string;
}

export interface ControlPlaneObject extends ApiObject {
  spec?: {
    readonly suspended?: boolean;
    readonly limits?: ControlPlaneLimits;
    readonly cloneFrom?: CloneSource;
  };
  status?: {
    phase?: string;
    url?: string;
    objects?: number;
    bytes?: number;
    owesWork?: boolean;
    lastUsedTime?: string;
    conditions?: readonly object[];
  };
}

export interface ControlPlaneEntry {
  readonly name: string;
  readonly uid: string;
  /** "" = nobody is known. */
  readonly creator: string;
  readonly isSuspended: boolean;
  readonly isEnding: boolean;
  readonly limits: ControlPlaneLimits;
  readonly cloneFrom: CloneSource | undefined;
}

/** Called with the name of what has changed, or of what is gone. Must be quick. */
export type ControlPlaneListener = (name: string) => void;

export class ControlPlaneIndex implements PartitionObserver {
  readonly #naming: Naming;
  #entries = new Map<string, ControlPlaneEntry>();
  /** By uid. */
  readonly #names = new Map<string, string>();
  #listener: ControlPlaneListener = () => {};

  constructor(naming: Naming) {
    this.#naming = naming;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(name: string): ControlPlaneEntry | undefined {
    return this.#entries.get(name);
  }

  /** Of the one with that uid. */
  nameOf(uid: string): string | undefined {
    return this.#names.get(uid);
  }

  /** One listener: whoever has loaded them. */
  subscribe(listener: ControlPlaneListener): void {
    this.#listener = listener;
  }

  replaced(objects: ObjectTree): void {
    const names = new Set(this.#entries.keys());
    this.#entries = new Map();
    this.#names.clear();
    objects.visit("", "", (object) => {
      this.#take(object);
      names.add(object.name);
      return undefined;
    });
    for (const name of names) this.#listener(name);
  }

  put(object: StoredObject): void {
    this.#take(object);
    this.#listener(object.name);
  }

  deleted({ name }: StoredObject): void {
    this.#forget(name);
    this.#listener(name);
  }

  #take(object: StoredObject): void {
    this.#forget(object.name);
    if (object.corruption !== undefined) return;
    const { metadata, spec: maybe } = parseJson(object.bytes) as unknown as ControlPlaneObject;
    // Whoever writes into the store by hand may leave it null.
    const spec = maybe ?? {};
    this.#names.set(metadata.uid ?? "", object.name);
    this.#entries.set(object.name, {
      name: object.name,
      uid: metadata.uid ?? "",
      creator: metadata.annotations?.[creatorAnnotation(this.#naming)] ?? "",
      isSuspended: spec.suspended === true,
      isEnding: metadata.deletionTimestamp !== undefined,
      limits: spec.limits ?? {},
      cloneFrom: spec.cloneFrom ?? undefined,
    });
  }

  #forget(name: string): void {
    this.#names.delete(this.#entries.get(name)?.uid ?? "");
    this.#entries.delete(name);
  }
}
