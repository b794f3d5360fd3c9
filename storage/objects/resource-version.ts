/**
 * The resourceVersion in an object's text. The store keeps the text without it, as it is the key's revision; here it is put in,
 * changed and taken out by splicing bytes.
 *
 *   stored   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"6f..","labels":..
 *   decoded  {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"6f..","resourceVersion":"7","labels":..
 *            ^0                                    ^bodyOffset                       ^ where uid ends
 */
import type { Revision } from "../kv/store.js";
import type { StoredObject } from "./stored-object.js";

export const METADATA_START = '"metadata":{';
const UID_START = '"uid":"';
const NEWLINE = 0x0a;

/** The bytes to store for an object's JSON, and to answer with once its revision is known. */
export function spliceResourceVersion(value: Buffer, uid: string, revision: Revision): Buffer {
  const metadataAt = value.indexOf(METADATA_START) + METADATA_START.length;
  const splice = planSplice(value, metadataAt, uid, revision);
  // A slice of Node's shared pool: bytes to keep are moved to a slab.
  const bytes = Buffer.allocUnsafe(splice.length);
  writeSpliced(value, splice, bytes, 0);
  return bytes;
}

/** What goes into a value, and where. */
interface Splice {
  readonly at: number;
  readonly text: string;
  /** Of the whole, with a newline at its end. */
  readonly length: number;
}

/** Where the resourceVersion goes. @param metadataAt where the metadata's first member begins */
export function planSplice(
  value: Buffer,
  metadataAt: number,
  uid: string,
  revision: Revision,
): Splice {
  const uidAt = uid === "" ? -1 : uidPosition(value, uid, metadataAt);
  const at = uidAt < 0 ? metadataAt : uidAt + UID_START.length + uid.length + 1;
  const isEmpty = uidAt < 0 && value[metadataAt] === 0x7d;
  const field = revisionMember(revision);
  const text = uidAt < 0 ? (isEmpty ? field : `${field},`) : `,${field}`;
  return { at, text, length: value.length + text.length + 1 };
}

/** Writes the value with what goes into it. @param start where in `to` */
export function writeSpliced(
  value: Buffer,
  { at, text, length }: Splice,
  to: Buffer,
  start: number,
): void {
  value.copy(to, start, 0, at);
  to.write(text, start + at, "latin1");
  value.copy(to, start + at + text.length, at);
  to[start + length - 1] = NEWLINE;
}

/** Where the member with that uid begins; -1 if another one precedes it, which we never write. */
function uidPosition(value: Buffer, uid: string, metadataAt: number): number {
  const at = value.indexOf(UID_START, metadataAt);
  const from = at + UID_START.length;
  return at >= 0 && value.toString("latin1", from, from + uid.length) === uid ? at : -1;
}

/** The same state under another revision, such as what a DELETED event shows (S1-WATCH-05): a copy. */
export function withRevision(object: StoredObject, revision: Revision): StoredObject {
  const { bytes, corruption } = object;
  if (corruption !== undefined) return object.with({ revision });
  const before = revisionMember(object.revision);
  const at = bytes.indexOf(before);
  const parts = [
    bytes.subarray(0, at),
    Buffer.from(revisionMember(revision)),
    bytes.subarray(at + before.length),
  ];
  return object.with({ revision, bytes: Buffer.concat(parts) });
}

/** An object that was decoded under revision 0, as it is not stored: without a resourceVersion. */
export function withoutRevision(object: StoredObject): StoredObject {
  // It follows the uid, or comes first if there is none.
  const [behind, first] = [',"resourceVersion":"0"', '"resourceVersion":"0",'];
  const isFirst = !object.bytes.includes(behind);
  const field = isFirst ? first : behind;
  const at = object.bytes.indexOf(field);
  if (at < 0) return object;
  const rest = object.bytes.subarray(at + field.length);
  return object.with({ bytes: Buffer.concat([object.bytes.subarray(0, at), rest]) });
}

function revisionMember(revision: Revision): string {
  return `"resourceVersion":"${revision}"`;
}
