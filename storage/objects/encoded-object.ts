/** Makes a StoredObject of a value that was just encoded: the object is at hand, so the value is not parsed. */
import { isRecord } from "../base/is-record.js";
import type { Revision } from "../kv/store.js";
import type { ParsedKey } from "./keys.js";
import { isTied, metadataProblem } from "./metadata-shape.js";
import { METADATA_START, spliceResourceVersion } from "./resource-version.js";
import { type Labels, NO_FIELDS, NO_LABELS, StoredObject } from "./stored-object.js";

/** Text that JSON writes and reads back unchanged. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** The object that a value encodes. */
export interface Encodable {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
}

/** A writer's knowledge of a value just encoded: enough to make the object without parsing it. */
export interface EncodedObject {
  readonly path: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: Labels;
  readonly isTied: boolean;
  readonly bodyOffset: number;
}

/**
 * Describes a value from the object that it encodes.
 * @returns undefined when parsing might give another result: then it has to be parsed
 */
export function describeEncoded(
  key: Pick<ParsedKey, "path" | "namespace">,
  value: Buffer,
  object: Encodable,
): EncodedObject | undefined {
  const { kind, apiVersion } = object;
  const metadata = object.metadata as Readonly<Record<string, unknown>>;
  const { uid, labels } = metadata;
  const head = `{"kind":"${kind}","apiVersion":"${apiVersion}",`;
  const start = head + METADATA_START;
  if (value.toString("latin1", 0, start.length) !== start) return undefined;
  if (typeof uid !== "string" || uid === "" || !PLAIN.test(uid)) return undefined;
  if (!isPlainMap(labels) || metadataProblem(metadata) !== undefined) return undefined;
  return {
    path: key.path,
    namespace: key.namespace,
    uid,
    labels: labels === undefined ? NO_LABELS : { ...(labels as Labels) },
    isTied: isTied(metadata),
    bodyOffset: head.length,
  };
}

/**
 * The result of `decodeStoredObject` for the described value. It has no selectable fields yet: after
 * `takeExtractor` they are read from its bytes.
 */
export function toStoredObject(
  value: Buffer,
  revision: Revision,
  { path, namespace, uid, labels, isTied, bodyOffset }: EncodedObject,
): StoredObject {
  return new StoredObject({
    path,
    namespace,
    revision,
    bytes: spliceResourceVersion(value, uid, revision),
    bodyOffset,
    labels,
    isTied,
    fields: NO_FIELDS,
    corruption: undefined,
  });
}

function isPlainMap(value: unknown): boolean {
  if (value === undefined) return true;
  if (!isRecord(value)) return false;
  for (const key in value) {
    const text = value[key];
    if (typeof text !== "string" || key === "__proto__" || !PLAIN.test(key) || !PLAIN.test(text))
      return false;
  }
  return true;
}
