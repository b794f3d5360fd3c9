/**
 * Representation: how the objects of one resource look in one form (object, Table, metadata) and one
 * encoding (JSON, indented JSON, YAML, Protobuf). The contract of the folder representations/; the
 * verbs know nothing else of forms and encodings.
 *
 * A list is written as head, items, foot; a watch as events. Every piece is written by itself, so
 * that nobody holds a whole list in memory.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Status } from "../api/status.js";
import type { ChunkWriter } from "./chunk-writer.js";

/** What stands in the metadata of a list. */
export interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** What stands in the metadata of a BOOKMARK event's object. */
export interface BookmarkMetadata {
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Representation {
  /** Tells encodings of one event apart; the same for all requests with the same form. */
  readonly id: string;
  readonly contentType: string;
  /** The media type of a stream of events. */
  readonly watchContentType: string;
  /** Whether an object's own bytes are its body, so that nothing has to be made. */
  readonly isStoredForm: boolean;
  /** Whether objects are shown whole, not as rows or by their metadata alone. */
  readonly isWholeObject: boolean;
  /** Whether it is whole objects in compact JSON, also where they differ from the stored ones. */
  readonly isPlainJson: boolean;
  /** Whether it says how old things are, so that what was made is soon wrong. */
  readonly isTimed: boolean;
  /**
   * Set for encodings in which lists of more than 100 MB are not recommended (S1-NEG-17): they cost
   * much more than compact JSON and Protobuf. The name under which such lists are counted.
   */
  readonly costlyEncoding?: "cbor" | "yaml" | "pretty";
  /** The object by itself: a complete body. */
  putObject(out: ChunkWriter, object: StoredObject): void;
  /**
   * How many bytes an item takes in a list. Where it is there, the head of a list needs the sum over
   * all items.
   */
  itemBytes?(object: StoredObject): number;
  putListHead(out: ChunkWriter, metadata: ListMetadata, itemsBytes: number): void;
  putItem(out: ChunkWriter, object: StoredObject, isFirst: boolean): void;
  putListFoot(out: ChunkWriter, isEmpty: boolean): void;
  /** A whole watch event. `isFirst`: the first event of its stream. */
  putEvent(out: ChunkWriter, type: string, object: StoredObject, isFirst: boolean): void;
  putBookmark(out: ChunkWriter, metadata: BookmarkMetadata): void;
  /** The ERROR event that ends a watch. */
  putError(out: ChunkWriter, status: Status): void;
  /** A complete body from the compact JSON of some other object, such as a Status. */
  encodeDocument(json: Buffer): Buffer;
  /** The media type of such a body. */
  readonly documentType: string;
}

export type IncludeObject = "None" | "Metadata" | "Object";
