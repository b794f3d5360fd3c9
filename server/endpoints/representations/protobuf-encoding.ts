/**
 * Objects and lists in Protobuf (S1-PB). A message begins with its length, so a list needs the sizes
 * of all its items before the first byte: an object is encoded once for its size and, while the cache
 * has room, never again; the cache is bounded in bytes, so that a list of any length costs no more
 * memory than that.
 */
import { LRUCache } from "lru-cache";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { JsonObject } from "../../api/meta.js";
import { type GroupVersion, parseGroupVersion } from "../../api/names.js";
import { notAcceptable } from "../../api/status.js";
import { parseJson } from "../../codec/json.js";
import type { ProtobufCodec, ProtobufCodecs } from "../../codec/protobuf.js";
import { itemHead, itemSize, listHead, watchFrameHead } from "../../codec/protobuf-stream.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import type { ChunkWriter } from "../chunk-writer.js";
import { metadataRange } from "../metadata-bytes.js";
import type { Representation } from "../representation.js";
import { servedBytes } from "./json-form.js";

/** Encoded objects that are kept for the next list, watch or get. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
/** What an entry costs besides its bytes, about. */
const ENTRY_BYTES = 200;

interface Kept {
  /** Whose encoding it is: an object may be served in several versions. */
  readonly owner: object;
  readonly message: Buffer;
}

/** The codecs, and the encoded objects that all resources share. */
export interface ProtobufForms {
  readonly codecs: Pick<ProtobufCodecs, "forKind">;
  readonly kept: LRUCache<StoredObject, Kept>;
  /** undefined: the type has no Protobuf form. */
  codecOf(resource: ServedResource): ProtobufCodec | undefined;
}

export function createProtobufForms(codecs: Pick<ProtobufCodecs, "forKind">): ProtobufForms {
  const known = new WeakMap<ServedResource, ProtobufCodec | null>();
  return {
    codecs,
    kept: new LRUCache({
      maxSize: KEPT_BYTES_MAX,
      sizeCalculation: ({ message }) => message.length + ENTRY_BYTES,
    }),
    codecOf(resource) {
      let codec = known.get(resource);
      if (codec === undefined) {
        const { group, version } = resource.fact.kindGroupVersion ?? resource;
        codec = codecs.forKind(group, version, resource.kind) ?? null;
        known.set(resource, codec);
      }
      return codec ?? undefined;
    },
  };
}

/** Whole objects; undefined where the type has no Protobuf form. */
export function protobufObjects(
  resource: ServedResource,
  contentType: string,
  forms: ProtobufForms,
): Representation | undefined {
  const codec = forms.codecOf(resource);
  if (codec === undefined) return undefined;
  const { group, version } = resource.fact.kindGroupVersion ?? resource;
  const served = servedBytes(resource);
  return representation({
    id: `protobuf/${group}/${version}/${resource.kind}`,
    contentType,
    codec,
    // Types without a list are never listed.
    listCodec: forms.codecs.forKind(group, version, `${resource.kind}List`) ?? codec,
    forms,
    toValue: (object) => parseJson(served(object).bytes) as JsonObject,
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
    id: "protobuf/metadata",
    contentType,
    codec,
    listCodec,
    forms,
    toValue: (object) => {
      const text = object.bytes.toString("utf8", ...metadataRange(object));
      return { metadata: parseJson(text) };
    },
  });
}

interface Parts {
  readonly id: string;
  readonly contentType: string;
  readonly codec: ProtobufCodec;
  readonly listCodec: ProtobufCodec;
  readonly forms: ProtobufForms;
  toValue(object: StoredObject): JsonObject;
}

function representation(parts: Parts): Representation {
  const { id, contentType, codec, listCodec, forms, toValue } = parts;
  const [mediaType = contentType] = contentType.split(";");
  const owner = {};
  const sizes = new WeakMap<StoredObject, number>();

  const messageOf = (object: StoredObject): Buffer => {
    const kept = forms.kept.get(object);
    if (kept?.owner === owner) return kept.message;
    const message = codec.encode(toValue(object));
    forms.kept.set(object, { owner, message });
    sizes.set(object, message.length);
    return message;
  };
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
    isStoredForm: false,
    isPlainJson: false,
    isTimed: false,
    putObject: (out, object) => putEnvelope(out, messageOf(object)),
    itemBytes: (object) => itemSize(sizes.get(object) ?? messageOf(object).length),
    putListHead(out, metadata, itemsBytes) {
      const message = listCodec.encode({ metadata: { ...metadata }, items: [] });
      putAll(out, listHead(listCodec.frame, message, itemsBytes));
    },
    putItem(out, object) {
      const message = messageOf(object);
      putAll(out, itemHead(message.length));
      putAll(out, message);
    },
    putListFoot: (out) => putAll(out, listCodec.frame.foot),
    putEvent: (out, type, object) => putFrame(out, type, envelope(messageOf(object))),
    putBookmark: (out, metadata) =>
      putFrame(out, "BOOKMARK", codec.encodeObject({ metadata: { ...metadata } as JsonObject })),
    putError: (out, status) =>
      putFrame(out, "ERROR", encodeDocument(forms, Buffer.from(JSON.stringify(status)))),
    encodeDocument: (json) => encodeDocument(forms, json),
    documentType: mediaType,
  };
}

function putAll(out: ChunkWriter, bytes: Buffer): void {
  out.putBytes(bytes, 0, bytes.length);
}

/** Any object of the facts, from its JSON. @throws {StatusError} 406 for one without a Protobuf form */
export function encodeDocument({ codecs }: Pick<ProtobufForms, "codecs">, json: Buffer): Buffer {
  const value = parseJson(json) as JsonObject;
  const groupVersion = parseGroupVersion(String(value.apiVersion)) ?? { group: "", version: "" };
  const codec = codecs.forKind(groupVersion.group, groupVersion.version, String(value.kind));
  if (codec === undefined) throw notAcceptable(["application/json", "application/yaml"]);
  return codec.encodeObject(value);
}
