/** Makes a StoredObject of a value that the store has; a value that cannot be read is a corrupt object (S1-UNS-08). */
import { isRecord } from "../base/is-record.js";
import type { Revision } from "../kv/store.js";
import { unreadableReason } from "../kv/unreadable.js";
import type { BytePlacer, ByteRange } from "./byte-arena.js";
import type { ParsedKey } from "./keys.js";
import { isTied, metadataProblem, validMetadata } from "./metadata-shape.js";
import {
  METADATA_START,
  planSplice,
  spliceResourceVersion,
  writeSpliced,
} from "./resource-version.js";
import {
  type FieldExtractor,
  type Labels,
  NO_FIELDS,
  NO_LABELS,
  StoredObject,
} from "./stored-object.js";
import { type ObjectMembers, parseStored } from "./stored-text.js";
import { metadataIn, withMetadata } from "./with-metadata.js";

/**
 * Looks at an object that somebody else may have stored, as the server knows its kind.
 * @returns the text of what it takes for the object; undefined = all of it
 * @throws {Error} for what is not of the kind; the message quotes nothing of it
 */
export type ObjectTidier = (
  object: Readonly<Record<string, unknown>>,
  value: Buffer,
) => string | undefined;

/** What the server knows of the objects of one partition. */
export interface ObjectKnowledge {
  readonly extractFields?: FieldExtractor | undefined;
  readonly tidy?: ObjectTidier | undefined;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Decodes a stored value. Never throws: an unreadable value is a corrupt object. Callers may trust the
 * metadata of an object without corruption, from which invalid members are dropped; and, where the objects
 * are tidied, that it has the types of its kind.
 * @param slabs where to keep its bytes, for an object that is certainly kept
 */
export function decodeStoredObject(
  key: Pick<ParsedKey, "path" | "namespace" | "name">,
  value: Buffer,
  revision: Revision,
  knowledge: ObjectKnowledge | undefined,
  slabs?: BytePlacer,
): StoredObject {
  try {
    return decode(key, value, revision, knowledge, slabs);
  } catch (error) {
    return new StoredObject({
      path: key.path,
      namespace: key.namespace,
      revision,
      bytes: NO_BYTES,
      bodyOffset: 0,
      labels: NO_LABELS,
      isTied: false,
      fields: NO_FIELDS,
      corruption: error instanceof Error ? error.message : String(error),
    });
  }
}

function decode(
  key: Pick<ParsedKey, "path" | "namespace" | "name">,
  stored: Buffer,
  revision: Revision,
  { extractFields, tidy }: ObjectKnowledge = {},
  slabs: BytePlacer | undefined,
): StoredObject {
  const reason = unreadableReason(stored);
  if (reason !== undefined) throw new Error(reason);
  let value = stored;
  const parse = extractFields?.parse;
  let parsed = parseStored(stored, parse);
  if (metadataProblem(parsed.metadata) !== undefined) {
    value = withMetadata(value, validMetadata(parsed.metadata, key));
    parsed = parseStored(value, parse);
  }
  const tidied = tidy?.(parsed.object, value);
  if (tidied !== undefined) {
    value = Buffer.from(tidied);
    parsed = parseStored(value, parse);
  }
  const { object, kind, apiVersion, metadata } = parsed;
  const uid = typeof metadata.uid === "string" ? metadata.uid : "";
  const head = `{"kind":"${kind}","apiVersion":"${apiVersion}",`;
  const metadataAt = head.length + METADATA_START.length;
  const start = value.toString("latin1", 0, metadataAt);
  const isOurs = start === head + METADATA_START;
  const fields = extractFields === undefined ? NO_FIELDS : extractFields(object);
  let bytes: Buffer = NO_BYTES;
  let place: ByteRange | undefined;
  if (!isOurs) {
    bytes = spliceForeign(value, metadata, uid, revision);
  } else if (slabs === undefined) {
    bytes = spliceResourceVersion(value, uid, revision);
  } else {
    const splice = planSplice(value, metadataAt, uid, revision);
    place = slabs.reserve(splice.length);
    writeSpliced(value, splice, place.memory, place.start);
  }
  const decoded = new StoredObject({
    path: key.path,
    namespace: key.namespace,
    revision,
    bytes,
    place,
    bodyOffset: isOurs || start.startsWith(head) ? head.length : 0,
    labels: isRecord(metadata.labels) ? (metadata.labels as Labels) : NO_LABELS,
    isTied: isTied(metadata),
    fields,
    corruption: undefined,
  });
  if (!isOurs && slabs !== undefined) decoded.moveTo(slabs);
  return decoded;
}

/** The bytes of text that we have not written: its metadata is written anew, all else stays as it is. */
function spliceForeign(
  value: Buffer,
  metadata: ObjectMembers["metadata"],
  uid: string,
  revision: Revision,
): Buffer {
  const { resourceVersion: _theirs, ...rest } = metadata;
  const own = withMetadata(value, rest);
  const splice = planSplice(own, metadataIn(own).start + 1, uid, revision);
  const bytes = Buffer.allocUnsafe(splice.length);
  writeSpliced(own, splice, bytes, 0);
  return bytes;
}
