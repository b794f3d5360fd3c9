/**
 * Representation: the objects of one resource in one form (object, Table, metadata) and one encoding
 * (JSON, indented JSON, YAML, Protobuf). The contract of the folder representations/; the verbs know no
 * more about forms and encodings.
 *
 * A list is written as head, items and foot; a watch as events. Each piece is written separately, so
 * that no list is in memory as a whole.
 */
import type { Steps } from "../../storage/base/steps.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Status } from "../api/status.js";
import type { ChunkWriter } from "./chunk-writer.js";

/** The metadata of a list. */
export interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** The metadata of a BOOKMARK event's object. */
export interface BookmarkMetadata {
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Representation {
  /** Identifies the encoding of an event; equal for all requests with the same form. */
  readonly id: string;
  readonly contentType: string;
  /** The media type of a stream of events. */
  readonly watchContentType: string;
  /** Whether an object's stored bytes are its body. */
  readonly isStoredForm: boolean;
  /** Whether objects are shown whole, not as rows or metadata. */
  readonly isWholeObject: boolean;
  /** Whether it is whole objects in compact JSON, even if they differ from the stored ones. */
  readonly isPlainJson: boolean;
  /** Whether it shows ages, so that results are outdated soon. */
  readonly isTimed: boolean;
  /**
   * Set for encodings that are discouraged for lists of more than 100 MB (S1-NEG-17), because they cost
   * much more than compact JSON and Protobuf. The name under which such lists are counted.
   */
  readonly costlyEncoding?: "cbor" | "yaml" | "pretty";
  /** Writes a single object as a complete body. */
  putObject(out: ChunkWriter, object: StoredObject): void;
  /** The size of an item in a list. If defined, the list head needs the sum over all items. */
  itemBytes?(object: StoredObject): number;
  putListHead(out: ChunkWriter, metadata: ListMetadata, itemsBytes: number): void;
  putItem(out: ChunkWriter, object: StoredObject, isFirst: boolean): void;
  putListFoot(out: ChunkWriter, isEmpty: boolean): void;
  /** Writes a whole watch event. `isFirst`: the first event of its stream. */
  putEvent(out: ChunkWriter, type: string, object: StoredObject, isFirst: boolean): void;
  /** The same in parts that nobody changes, so that a large object is not copied; absent = only `putEvent` writes it. */
  eventParts?(type: string, object: StoredObject): readonly Buffer[];
  putBookmark(out: ChunkWriter, metadata: BookmarkMetadata): void;
  /** Writes the ERROR event that ends a watch. */
  putError(out: ChunkWriter, status: Status): void;
  /** Encodes a complete body from the compact JSON of another object, for example a Status. */
  encodeDocument(json: Buffer): Buffer;
  /** The media type of such a body. */
  readonly documentType: string;
  /** For large objects in an encoding that takes long; absent = none takes long. */
  readonly inSteps?: StepwiseEncoding;
}

/** The same in steps, which others may run between. */
export interface StepwiseEncoding {
  putObject(out: ChunkWriter, object: StoredObject): Steps<void>;
  putItem(out: ChunkWriter, object: StoredObject, isFirst: boolean): Steps<void>;
  encodeDocument(json: Buffer): Steps<Buffer>;
}

export type IncludeObject = "None" | "Metadata" | "Object";
