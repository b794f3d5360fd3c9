/**
 * Listing: one list request in progress, and the state that it starts from. Shared by the files behind
 * list.ts.
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
   * Whether lists at an exact version and further pages use snapshots in memory (gate
   * ListFromCacheSnapshot). Default true; otherwise they are read from the store.
   */
  readonly usesSnapshots?: boolean;
  /** Counts lists of more than `bytes` in an encoding that is discouraged for them. */
  readonly largeLists?: { readonly bytes: number; count(encoding: string): void };
}

/** What the body of a list needs. */
export interface ListOutput {
  readonly ctx: RequestContext;
  readonly resource: StoredResource;
  readonly services: ListOutputServices;
  readonly representation: Representation;
}

export type ListOutputServices = Pick<ListServices, "chunks" | "largeLists">;

/** One list request in progress. */
export interface Listing extends ListOutput {
  readonly services: ListServices;
  readonly selector: Selector;
  readonly identity: ListIdentity;
}

/** The start of a list: a state, and the object to continue after. */
export interface Start {
  readonly revision: Revision;
  /** undefined = only the store has that revision. */
  readonly tree: ObjectTree | undefined;
  readonly after: string;
  /** The number of objects after `after`, if the token has it. */
  readonly remaining: number | undefined;
}

/** The objects of one page. */
export interface Page {
  readonly objects: readonly StoredObject[];
  readonly hasMore: boolean;
  /** The number of objects after the page; valid only without a selector. */
  readonly remaining: number;
}

/** Writes the items of a list to the client. */
export interface ListBody {
  /** Whether the caller should flush. */
  readonly isFull: boolean;
  put(object: StoredObject): void;
  /** Sends the buffered items. Returns false if the client is gone. */
  flush(): Promise<boolean>;
  end(): Promise<void>;
}
