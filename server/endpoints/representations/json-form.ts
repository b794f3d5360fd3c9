/**
 * JsonForm: the JSON text of objects in one form: whole or metadata only (tables are in
 * table-form.ts). It is copied from the view's bytes; only objects whose served version differs from
 * the stored one are parsed. The encodings build on it.
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { formatGroupVersion } from "../../api/names.js";
import {
  isCustom,
  isStored,
  listKindOf,
  mainOf,
  type ServedResource,
} from "../../kinds/served-resource.js";
import { parseJson } from "../../schema/parse-json.js";
import type { ChunkWriter } from "../chunk-writer.js";
import { metadataRange } from "../metadata-bytes.js";
import type { BookmarkMetadata, ListMetadata } from "../representation.js";

export interface JsonForm {
  /** Identifies the form within a resource. */
  readonly id: string;
  /** Whether objects are shown whole. */
  readonly isWholeObject: boolean;
  /** Whether the stored bytes are the object in this form. */
  readonly isStoredForm: boolean;
  readonly isTimed: boolean;
  /** Writes the object without a newline. `isFirst`: nothing of the form was sent yet. */
  put(out: ChunkWriter, object: StoredObject, isFirst: boolean): void;
  putItem(out: ChunkWriter, object: StoredObject): void;
  /** The text up to the opening bracket of the items; LIST_FOOT is the rest. */
  listHead(metadata: ListMetadata): string;
  bookmark(metadata: BookmarkMetadata): string;
}

export const LIST_FOOT = "]}";

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Whole objects. List items of built-in kinds omit kind and apiVersion (S1-COLL-10); clients of custom
 * kinds need them.
 */
export function objectForm(resource: ServedResource): JsonForm {
  const { kind } = resource;
  const apiVersion = formatGroupVersion(resource);
  const listStart = `{"kind":"${listKindOf(resource)}","apiVersion":"${apiVersion}","metadata":`;
  const served = servedBytes(resource);
  const omitsKind = !isCustom(resource);
  return {
    id: isStored(resource) ? `object/${mainOf(resource).id}/${kind}` : `object/${apiVersion}`,
    isWholeObject: true,
    isStoredForm: !isStored(resource) || resource.conversion === undefined,
    isTimed: false,
    put(out, object) {
      const { place } = served(object);
      out.putBytes(place.memory, place.start, place.end - 1);
    },
    putItem(out, object) {
      const { place, bodyOffset } = served(object);
      const from = omitsKind ? bodyOffset : 0;
      if (from > 0) out.putByte(OPEN_BRACE);
      out.putBytes(place.memory, place.start + from, place.end - 1);
    },
    listHead: (metadata) => `${listStart}${listMetadata(metadata)},"items":[`,
    bookmark: (metadata) => JSON.stringify({ kind, apiVersion, metadata }),
  };
}

/** Returns the object with the bytes of the served version. */
export type ServedBytes = (object: StoredObject) => StoredObject;

/** Returns the bytes in the served version: the stored ones unless the shapes differ. */
export function servedBytes(resource: ServedResource): ServedBytes {
  if (!isStored(resource) || resource.conversion === undefined) return (object) => object;
  const { conversion, codec, storedCodec } = resource;
  const { ofView } = conversion;
  if (ofView !== undefined) return ofView;
  const converted = new WeakMap<StoredObject, StoredObject>();
  const head = `{"kind":"${resource.kind}","apiVersion":"${formatGroupVersion(resource)}",`;
  return (object) => {
    let result = converted.get(object);
    if (result === undefined) {
      const stored = storedCodec.decode(parseJson(object.bytes)).object;
      const text = codec.encode(conversion.fromStored(stored));
      result = object.with({
        bytes: Buffer.from(`${text}\n`),
        bodyOffset: text.startsWith(head) ? head.length : 0,
      });
      converted.set(object, result);
    }
    return result;
  };
}

/**
 * Only metadata, alone or as items (S1-TABLE-09, S1-TABLE-10).
 * @param served for a subresource of its own shape, whose metadata is less than the object's
 */
export function metadataForm(metaVersion: string, served?: ServedBytes): JsonForm {
  const head = Buffer.from(
    `{"kind":"PartialObjectMetadata","apiVersion":"${metaVersion}","metadata":`,
  );
  const put = (out: ChunkWriter, stored: StoredObject) => {
    const object = served?.(stored) ?? stored;
    out.putBytes(head, 0, head.length);
    const [from, to] = metadataRange(object);
    const { memory, start } = object.place;
    out.putBytes(memory, start + from, start + to);
    out.putByte(CLOSE_BRACE);
  };
  return {
    id: served === undefined ? `metadata/${metaVersion}` : `metadata/${metaVersion}/part`,
    isWholeObject: false,
    isStoredForm: false,
    isTimed: false,
    put,
    putItem: put,
    listHead: (metadata) =>
      `{"kind":"PartialObjectMetadataList","apiVersion":"${metaVersion}","metadata":${listMetadata(metadata)},"items":[`,
    bookmark: (metadata) =>
      JSON.stringify({
        kind: "PartialObjectMetadata",
        apiVersion: metaVersion,
        metadata,
      }),
  };
}

export function listMetadata({
  resourceVersion,
  continue: token,
  remainingItemCount,
}: ListMetadata): string {
  const rest =
    (token === undefined ? "" : `,"continue":"${token}"`) +
    (remainingItemCount === undefined ? "" : `,"remainingItemCount":${remainingItemCount}`);
  return `{"resourceVersion":"${resourceVersion}"${rest}}`;
}
