/**
 * Listing: one list request on its way, and the state of the collection that it starts from. What the
 * files behind list.ts hand to each other.
 */
import type { ObjectTree } from "../../../storage/cache/object-tree.js";
import type { Revision } from "../../../storage/kv/store.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import type { ListIdentity } from "../continue-token.js";
import type { Representation } from "../representation.js";
import type { HistoricalReader } from "./historical-reader.js";
import type { ReadServices } from "./resource-read.js";

export interface ListServices extends ReadServices {
  readonly history: HistoricalReader;
  /**
   * Whether lists at an exact version, and further pages, come from snapshots in memory (gate
   * ListFromCacheSnapshot). Default true; otherwise they are read from the store.
   */
  readonly usesSnapshots?: boolean;
  /** Who counts lists of more than `bytes` in an encoding that is not recommended for them. */
  readonly largeLists?: { readonly bytes: number; count(encoding: string): void };
}

/** One list request on its way. */
export interface Listing {
  readonly ctx: RequestContext;
  readonly resource: StoredResource;
  readonly services: ListServices;
  readonly representation: Representation;
  readonly selector: Selector;
  readonly identity: ListIdentity;
}

/** Where a list starts: a state, and the object after which it goes on. */
export interface Start {
  readonly revision: Revision;
  /** undefined: memory does not hold that revision, the store does. */
  readonly tree: ObjectTree | undefined;
  readonly after: string;
  /** How many objects come after `after`, where the token says so. */
  readonly remaining: number | undefined;
}

/** The objects of one page. */
export interface Page {
  readonly objects: readonly StoredObject[];
  readonly hasMore: boolean;
  /** Objects behind the page; only meaningful without a selector. */
  readonly remaining: number;
}

/** Takes the items of a list on their way to the client. */
export interface ListBody {
  /** Whether it is time to flush. */
  readonly isFull: boolean;
  put(object: StoredObject): void;
  /** Sends what has gathered. False: the client is gone. */
  flush(): Promise<boolean>;
  end(): Promise<void>;
}
