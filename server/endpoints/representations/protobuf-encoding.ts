/**
 * Objects and lists in Protobuf (S1-PB). A message begins with its length, so a list needs the sizes of
 * all items up front: an object is encoded once for its size and cached while there is room. The cache is
 * bounded in bytes, whatever the length of lists.
 */
import type { SharedBytes } from "../../../storage/base/shared-bytes.js";
import { SharedCache } from "../../../storage/base/shared-cache.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { JsonObject } from "../../api/meta.js";
import { type GroupVersion, parseGroupVersion } from "../../api/names.js";
import { notAcceptable } from "../../api/status.js";
import type { ProtobufCodec, ProtobufCodecs } from "../../codec/protobuf.js";
import { itemHead, itemSize, listHead, watchFrameHead } from "../../codec/protobuf-stream.js";
import { kindVersionOf, type ServedResource } from "../../kinds/served-resource.js";
import { parseJson } from "../../schema/parse-json.js";
import type { ChunkWriter } from "../chunk-writer.js";
import { metadataRange } from "../metadata-bytes.js";
import type { Representation } from "../representation.js";
import { servedBytes } from "./json-form.js";

/** Bytes of encoded objects cached for later lists, watches and gets. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
/**
 * Larger messages are mostly text that is copied anyway. Caching them (off-heap memory that the garbage
 * collector tracks) costs more than encoding them again.
 */
const KEPT_MESSAGE_BYTES_MAX = 4 * 1024;
/** Approximate overhead of a cache entry. */
const ENTRY_BYTES = 200;

/**
 * Objects of a larger list are cached only while there is room: otherwise the list would evict its own
 * beginning before the next reader needs it.
 */
const LISTED_BYTES_MAX = KEPT_BYTES_MAX / 2;

const METADATA_START = Buffer.from('{"metadata":');
const OBJECT_END = Buffer.from("}");

interface Kept {
  /** The owner of the encoding; an object may be served in several versions. */
  readonly owner: object;
  readonly message: Buffer;
}

/** The codecs, and the cache of encoded objects for all resources. */
export interface ProtobufForms {
  readonly codecs: Pick<ProtobufCodecs, "forKind">;
  readonly kept: SharedCache<StoredObject, Kept>;
  /** undefined = the type has no Protobuf form. */
  codecOf(resource: ServedResource): ProtobufCodec | undefined;
}

/** @param memory what encoded objects count in; absent = they are alone */
export function createProtobufForms(
  codecs: Pick<ProtobufCodecs, "forKind">,
  memory?: SharedBytes,
): ProtobufForms {
  const known = new WeakMap<ServedResource, ProtobufCodec | null>();
  return {
    codecs,
    kept: new SharedCache({ bytesMax: KEPT_BYTES_MAX, memory }),
    codecOf(resource) {
      let codec = known.get(resource);
      if (codec === undefined) {
        const { group, version } = kindVersionOf(resource);
        codec = codecs.forKind(group, version, resource.kind) ?? null;
        known.set(resource, codec);
      }
      return codec ?? undefined;
    },
  };
}

/** Whole objects; undefined if the type has no Protobuf form. */
export function protobufObjects(
  resource: ServedResource,
  contentType: string,
  forms: ProtobufForms,
): Representation | undefined {
  const codec = forms.codecOf(resource);
  if (codec === undefined) return undefined;
  const { group, version } = kindVersionOf(resource);
  const served = servedBytes(resource);
  return representation({
    id: `protobuf/${group}/${version}/${resource.kind}`,
    contentType,
    isWholeObject: true,
    codec,
    // Types without a list type are never listed.
    listCodec: forms.codecs.forKind(group, version, `${resource.kind}List`) ?? codec,
    forms,
    toText: (object) => served(object).bytes,
  });
}

/** Only metadata, of any type (C-16). */
export function protobufMetadata(
  { group, version }: GroupVersion,
  contentType: string,
  forms: ProtobufForms,
): Representation | undefined {
  const codec = forms.codecs.forKind(group, version, "PartialObjectMetadata");
  const listCodec = forms.codecs.forKind(group, version, "PartialObjectMetadataList");
  if (codec === undefined || listCodec === undefined) return undefined;
  return representation({
    id: `protobuf/metadata/${version}`,
    contentType,
    isWholeObject: false,
    codec,
    listCodec,
    forms,
    toText: (object) =>
      Buffer.concat([METADATA_START, object.bytes.subarray(...metadataRange(object)), OBJECT_END]),
  });
}

interface Parts {
  readonly id: string;
  readonly contentType: string;
  readonly isWholeObject: boolean;
  readonly codec: ProtobufCodec;
  readonly listCodec: ProtobufCodec;
  readonly forms: ProtobufForms;
  /** The compact JSON to encode. */
  toText(object: StoredObject): Buffer;
}

function representation(parts: Parts): Representation {
  const { id, contentType, isWholeObject, codec, listCodec, forms, toText } = parts;
  const owner = {};
  const sizes = new WeakMap<StoredObject, number>();

  /** Returns a view, valid until the next object is encoded. */
  const messageOf = (object: StoredObject, mayPushOut: boolean): Buffer => {
    const kept = forms.kept.get(object);
    if (kept?.owner === owner) return kept.message;
    const message = codec.encodeText(toText(object));
    if (message.length > KEPT_MESSAGE_BYTES_MAX) return message;
    const bytes = message.length + ENTRY_BYTES;
    if (mayPushOut || forms.kept.bytes + bytes <= KEPT_BYTES_MAX) {
      forms.kept.set(object, { owner, message: Buffer.from(message) }, bytes);
    }
    return message;
  };
  const sizeOf = (object: StoredObject): number => {
    let size = sizes.get(object);
    if (size === undefined) {
      size = messageOf(object, false).length;
      sizes.set(object, size);
    }
    return size;
  };
  /** Lists too large for the cache: they would evict each other's objects and their own. */
  const largeLists = new WeakSet<ChunkWriter>();
  const putEnvelope = (out: ChunkWriter, message: Buffer) => {
    putAll(out, listHead(codec.frame, message, 0));
    putAll(out, codec.frame.foot);
  };
  const putFrame = (out: ChunkWriter, type: string, body: Buffer) => {
    putAll(out, watchFrameHead(type, body.length));
    putAll(out, body);
  };
  const envelope = (message: Buffer): Buffer =>
    Buffer.concat([listHead(codec.frame, message, 0), codec.frame.foot]);

  return {
    id,
    contentType,
    watchContentType: `${contentType};stream=watch`,
    isWholeObject,
    isStoredForm: false,
    isPlainJson: false,
    isTimed: false,
    putObject: (out, object) => putEnvelope(out, messageOf(object, true)),
    itemBytes: (object) => itemSize(sizeOf(object)),
    putListHead(out, metadata, itemsBytes) {
      const message = listCodec.encode({ metadata: { ...metadata }, items: [] });
      putAll(out, listHead(listCodec.frame, message, itemsBytes));
      if (itemsBytes > LISTED_BYTES_MAX) largeLists.add(out);
    },
    putItem(out, object) {
      const message = messageOf(object, !largeLists.has(out));
      putAll(out, itemHead(message.length));
      putAll(out, message);
    },
    putListFoot: (out) => putAll(out, listCodec.frame.foot),
    putEvent: (out, type, object) => putFrame(out, type, envelope(messageOf(object, true))),
    putBookmark: (out, metadata) =>
      putFrame(out, "BOOKMARK", codec.encodeObject({ metadata: { ...metadata } as JsonObject })),
    putError: (out, status) =>
      putFrame(out, "ERROR", encodeDocument(forms, Buffer.from(JSON.stringify(status)))),
    encodeDocument: (json) => encodeDocument(forms, json),
    documentType: contentType,
  };
}

function putAll(out: ChunkWriter, bytes: Buffer): void {
  out.putBytes(bytes, 0, bytes.length);
}

/** Encodes any object of the facts from its JSON. @throws {StatusError} 406 without a Protobuf form */
export function encodeDocument({ codecs }: Pick<ProtobufForms, "codecs">, json: Buffer): Buffer {
  const value = parseJson(json) as JsonObject;
  const groupVersion = parseGroupVersion(String(value.apiVersion)) ?? { group: "", version: "" };
  const codec = codecs.forKind(groupVersion.group, groupVersion.version, String(value.kind));
  if (codec === undefined) throw notAcceptable(["application/json", "application/yaml"]);
  return codec.encodeObject(value);
}
