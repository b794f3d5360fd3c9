/**
 * Representation: how the objects of one resource look in one form (object, Table row, metadata).
 * Everything is made of the bytes that the view holds; nothing is parsed, except where the served
 * version has another shape than the stored one.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { formatGroupVersion } from "../api/names.js";
import type { Naming } from "../api/naming.js";
import { parseJson } from "../codec/json.js";
import type { ServedResource } from "../registry/generic/served-resource.js";
import type { ChunkWriter } from "./chunk-writer.js";
import { creationTimestamp, metadataRange } from "./metadata-bytes.js";
import type { Negotiated } from "./negotiation.js";

/** What stands in the metadata of a list. */
export interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface Representation {
  /** Tells encodings of one event apart; the same for all requests with the same form. */
  readonly id: string;
  readonly contentType: string;
  /** Whether an object's own bytes are its body, so that nothing has to be made. */
  readonly isStoredForm: boolean;
  /** The object by itself: a complete body. */
  putObject(out: ChunkWriter, object: StoredObject): void;
  /** The object as an element of a list. */
  putItem(out: ChunkWriter, object: StoredObject): void;
  /** The object inside a watch event. `isFirst`: the first event of its stream. */
  putEventObject(out: ChunkWriter, object: StoredObject, isFirst: boolean): void;
  listHead(metadata: ListMetadata): string;
  readonly listFoot: string;
  /** The object of a BOOKMARK event. */
  bookmark(metadata: { resourceVersion: string; annotations?: Record<string, string> }): string;
}

export type IncludeObject = "None" | "Metadata" | "Object";

const OPEN_BRACE = 0x7b;
const NEWLINE = 0x0a;

/** @param includeObject what table rows carry besides their cells */
export function createRepresentation(
  resource: ServedResource,
  negotiated: Negotiated,
  naming: Naming,
  includeObject: IncludeObject,
): Representation {
  const { form, contentType } = negotiated;
  if (form === "object") return objectRepresentation(resource, contentType);
  const metaVersion = `meta.${naming.groupDomain}/v1`;
  if (form === "Table")
    return tableRepresentation(resource, contentType, metaVersion, includeObject);
  return metadataRepresentation(contentType, metaVersion);
}

/** Full objects. As items of a list they leave out kind and apiVersion (S1-COLL-10). */
function objectRepresentation(resource: ServedResource, contentType: string): Representation {
  const { kind } = resource;
  const apiVersion = formatGroupVersion(resource);
  const listStart = `{"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":`;
  const served = servedBytes(resource);
  return {
    id: `object/${apiVersion}`,
    contentType,
    isStoredForm: resource.conversion === undefined,
    putObject(out, object) {
      const { bytes } = served(object);
      out.putBytes(bytes, 0, bytes.length);
    },
    putItem(out, object) {
      const { bytes, bodyOffset } = served(object);
      if (bodyOffset > 0) out.putByte(OPEN_BRACE);
      out.putBytes(bytes, bodyOffset, bytes.length - 1);
    },
    putEventObject(out, object) {
      const { bytes } = served(object);
      out.putBytes(bytes, 0, bytes.length - 1);
    },
    listHead: (metadata) => `${listStart}${listMetadata(metadata)},"items":[`,
    listFoot: "]}\n",
    bookmark: (metadata) =>
      JSON.stringify({ kind, apiVersion, metadata: { ...metadata, creationTimestamp: null } }),
  };
}

/** The bytes in the served version: the stored ones, unless the two differ in shape. */
function servedBytes(
  resource: ServedResource,
): (object: StoredObject) => Pick<StoredObject, "bytes" | "bodyOffset"> {
  const { conversion, codec, storedCodec } = resource;
  if (conversion === undefined) return (object) => object;
  const converted = new WeakMap<StoredObject, { bytes: Buffer; bodyOffset: number }>();
  const head = `{"kind":"${resource.kind}","apiVersion":"${formatGroupVersion(resource)}",`;
  return (object) => {
    let result = converted.get(object);
    if (result === undefined) {
      const stored = storedCodec.decode(parseJson(object.bytes)).object;
      const text = codec.encode(conversion.fromStored(stored));
      result = {
        bytes: Buffer.from(`${text}\n`),
        bodyOffset: text.startsWith(head) ? head.length : 0,
      };
      converted.set(object, result);
    }
    return result;
  };
}

/** Only metadata, by itself or as items (S1-TABLE-09, S1-TABLE-10). */
function metadataRepresentation(contentType: string, metaVersion: string): Representation {
  const start = `{"kind":"PartialObjectMetadata","apiVersion":"${metaVersion}","metadata":`;
  const put = (out: ChunkWriter, object: StoredObject) => {
    out.putText(start);
    const [from, to] = metadataRange(object);
    out.putBytes(object.bytes, from, to);
    out.putText("}");
  };
  return {
    id: "metadata",
    contentType,
    isStoredForm: false,
    putObject(out, object) {
      put(out, object);
      out.putByte(NEWLINE);
    },
    putItem: put,
    putEventObject: put,
    listHead: (metadata) =>
      `{"kind":"PartialObjectMetadataList","apiVersion":"${metaVersion}","metadata":${listMetadata(metadata)},"items":[`,
    listFoot: "]}\n",
    bookmark: (metadata) =>
      JSON.stringify({
        kind: "PartialObjectMetadata",
        apiVersion: metaVersion,
        metadata: { ...metadata, creationTimestamp: null },
      }),
  };
}

/** The columns of every type that has none of its own (S1-TABLE-02, C-15). */
const DEFAULT_COLUMNS = [
  {
    name: "Name",
    type: "string",
    format: "name",
    description: "Name must be unique within a namespace. It cannot be changed after creation.",
    priority: 0,
  },
  {
    name: "Created At",
    type: "date",
    format: "",
    description: "The time at which the server created the object, in RFC 3339 form and UTC.",
    priority: 0,
  },
];

/** Rows under the default columns. */
function tableRepresentation(
  resource: ServedResource,
  contentType: string,
  metaVersion: string,
  includeObject: IncludeObject,
): Representation {
  const head = `{"kind":"Table","apiVersion":"${metaVersion}","metadata":`;
  const columns = JSON.stringify(DEFAULT_COLUMNS);
  const metadataOnly = metadataRepresentation(contentType, metaVersion);
  const whole = objectRepresentation(resource, contentType);
  const putRow = (out: ChunkWriter, object: StoredObject) => {
    const range = metadataRange(object);
    const created = creationTimestamp(object, range);
    out.putText(`{"cells":[${JSON.stringify(object.name)},"${created}"]`);
    if (includeObject !== "None") {
      out.putText(',"object":');
      const inner = includeObject === "Object" ? whole : metadataOnly;
      inner.putEventObject(out, object, false);
    } else {
      out.putText(',"object":null');
    }
    out.putText("}");
  };
  const putTable = (out: ChunkWriter, object: StoredObject, withColumns: boolean) => {
    const metadata = `{"resourceVersion":"${object.revision}"}`;
    const definitions = withColumns ? columns : "null";
    out.putText(`${head}${metadata},"columnDefinitions":${definitions},"rows":[`);
    putRow(out, object);
    out.putText("]}");
  };
  return {
    id: `table/${includeObject}/${includeObject === "Object" ? whole.id : ""}`,
    contentType,
    isStoredForm: false,
    putObject(out, object) {
      putTable(out, object, true);
      out.putByte(NEWLINE);
    },
    putItem: putRow,
    putEventObject: putTable,
    listHead: (metadata) =>
      `${head}${listMetadata(metadata)},"columnDefinitions":${columns},"rows":[`,
    listFoot: "]}\n",
    bookmark: (metadata) =>
      JSON.stringify({
        kind: "Table",
        apiVersion: metaVersion,
        metadata: { resourceVersion: metadata.resourceVersion },
        columnDefinitions: null,
        rows: [
          {
            cells: ["", ""],
            object: {
              kind: "PartialObjectMetadata",
              apiVersion: metaVersion,
              metadata: { ...metadata, creationTimestamp: null },
            },
          },
        ],
      }),
  };
}

function listMetadata({
  resourceVersion,
  continue: token,
  remainingItemCount,
}: ListMetadata): string {
  const rest =
    (token === undefined ? "" : `,"continue":"${token}"`) +
    (remainingItemCount === undefined ? "" : `,"remainingItemCount":${remainingItemCount}`);
  return `{"resourceVersion":"${resourceVersion}"${rest}}`;
}
