/**
 * JsonForm: the JSON text of objects in one form: whole or metadata only (tables are in
 * table-form.ts). It is made of the bytes that the view holds; nothing is parsed, except where the
 * served version has another shape than the stored one. The encodings are made of it.
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { formatGroupVersion } from "../../api/names.js";
import { parseJson } from "../../codec/json.js";
import {
  isCustom,
  isStored,
  listKindOf,
  mainOf,
  type ServedResource,
} from "../../kinds/served-resource.js";
import type { ChunkWriter } from "../chunk-writer.js";
import { metadataRange } from "../metadata-bytes.js";
import type { BookmarkMetadata, ListMetadata } from "../representation.js";

export interface JsonForm {
  /** Tells forms of one resource apart. */
  readonly id: string;
  /** Whether objects are shown whole. */
  readonly isWholeObject: boolean;
  /** Whether the stored bytes are the object. */
  readonly isStoredForm: boolean;
  readonly isTimed: boolean;
  /** The whole object, without a newline. `isFirst`: nothing of the form was sent yet. */
  put(out: ChunkWriter, object: StoredObject, isFirst: boolean): void;
  putItem(out: ChunkWriter, object: StoredObject): void;
  /** Up to the bracket behind which the items stand; LIST_FOOT is the rest. */
  listHead(metadata: ListMetadata): string;
  bookmark(metadata: BookmarkMetadata): string;
}

export const LIST_FOOT = "]}";

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Full objects. As items of a list those of built-in kinds leave out kind and apiVersion (S1-COLL-10);
 * clients of custom kinds know objects by them alone.
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

/** The object with the bytes of the served version. */
export type ServedBytes = (object: StoredObject) => StoredObject;

/** The bytes in the served version: the stored ones, unless the two differ in shape. */
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

/** Only metadata, by itself or as items (S1-TABLE-09, S1-TABLE-10). */
export function metadataForm(metaVersion: string): JsonForm {
  const head = Buffer.from(
    `{"kind":"PartialObjectMetadata","apiVersion":"${metaVersion}","metadata":`,
  );
  const put = (out: ChunkWriter, object: StoredObject) => {
    out.putBytes(head, 0, head.length);
    const [from, to] = metadataRange(object);
    const { memory, start } = object.place;
    out.putBytes(memory, start + from, start + to);
    out.putByte(CLOSE_BRACE);
  };
  return {
    id: "metadata",
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
