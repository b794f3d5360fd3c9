/**
 * StoredObject: one version of one object, as bytes. The store keeps an object's JSON without
 * `resourceVersion` (it is the key's revision); decoding puts it back in by splicing bytes, so a get
 * or a list writes what is already there. Only what selectors need is kept as values.
 *
 *   stored   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"6f..","labels":..
 *   decoded  {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"6f..","resourceVersion":"7","labels":..
 *            ^0                                    ^bodyOffset                       ^ where uid ends
 *
 * Immutable to readers. Only its memory changes: its bytes move into a slab that many objects share, and a
 * past version is reduced to its differences to another one.
 *
 *   17 plain   42 plain   63 current      two updates, both events are recent
 *   17 by 42   42 by 63   63 current      a few seconds later: reading 17 goes by 42 and 63
 *
 * Every sixteenth version stays plain, which bounds what reading an old one costs.
 */

import { assert } from "../base/assert.js";
import { isRecord } from "../base/is-record.js";
import type { Revision } from "../kv/store.js";
import { unreadableReason } from "../kv/unreadable.js";
import type { BytePlacer, ByteRange } from "./byte-arena.js";
import { applyDelta, encodeDelta, textLengthOf } from "./byte-delta.js";
import type { ParsedKey } from "./keys.js";
import { metadataProblem, validMetadata } from "./metadata-shape.js";
import { metadataIn, withMetadata } from "./with-metadata.js";

export type Labels = Readonly<Record<string, string>>;

/** Values that field selectors may ask for, by path, besides metadata.name and metadata.namespace. */
export type FieldValues = Readonly<Record<string, string>>;

/** Reads an object's selectable fields; per partition, because only the server knows kinds. */
export interface FieldExtractor {
  (object: Readonly<Record<string, unknown>>): FieldValues;
  /** Reads the object's text, for kinds with integers that JSON.parse would round. Absent = JSON.parse. */
  readonly parse?: (text: string) => unknown;
}

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

/** Maximum length of a chain of versions that build on one another. */
const ROW_MAX = 16;
/** Differences larger than this share of the bytes are not stored as a delta. */
const DELTA_SHARE_MAX = 0.75;
/** The same for what many registries have alike. */
const ALIKE_SHARE_MAX = 0.5;

/** The parts of an object. */
export interface StoredObjectParts {
  readonly path: string;
  readonly namespace: string;
  readonly revision: Revision;
  readonly bytes: Buffer;
  /** Where the bytes are, if they are part of a slab. */
  readonly place?: ByteRange | undefined;
  readonly bodyOffset: number;
  readonly labels: Labels;
  readonly isTied: boolean;
  /** The values, or an extractor that reads them on first use. */
  readonly fields: FieldValues | FieldExtractor;
  readonly corruption: string | undefined;
}

/**
 * A class and no literal, so that all objects have one shape to V8: lists visit tens of thousands of
 * them, and each additional shape costs every visit.
 */
export class StoredObject {
  readonly revision: Revision;
  /**
   * Where the JSON goes on after kind and apiVersion: `{` plus `bytes` from here is the object as a
   * list item. 0 when the stored text does not begin with them.
   */
  readonly bodyOffset: number;
  labels: Labels;
  /** Whether it names owners or is being deleted, so that other objects' deletions may concern it. */
  readonly isTied: boolean;
  /** Why the stored value is unreadable; such an object has no bytes (S1-UNS-08). */
  readonly corruption: string | undefined;
  /** Where in `bytes` the metadata ends, cached by the first reader; 0 = not known yet. */
  metadataEnd = 0;
  #fields: FieldValues | FieldExtractor;
  #path: string;
  #namespace: string;
  #memory: Buffer;
  #start: number;
  #end: number;
  /** For a past version its base, to which its bytes are the differences; else how many versions in a row build on this one. */
  #base: StoredObject | number = 0;

  constructor(parts: StoredObjectParts) {
    this.#path = parts.path;
    this.#namespace = parts.namespace;
    this.revision = parts.revision;
    this.bodyOffset = parts.bodyOffset;
    this.labels = parts.labels;
    this.isTied = parts.isTied;
    this.#fields = parts.fields;
    this.corruption = parts.corruption;
    const { bytes, place } = parts;
    this.#memory = place === undefined ? bytes : place.memory;
    this.#start = place === undefined ? 0 : place.start;
    this.#end = place === undefined ? bytes.length : place.end;
  }

  /** `namespace/name` or `name`: the key inside the partition. */
  get path(): string {
    return this.#path;
  }

  get namespace(): string {
    return this.#namespace;
  }

  get name(): string {
    return this.#namespace === "" ? this.#path : this.#path.slice(this.#namespace.length + 1);
  }

  get fields(): FieldValues {
    if (typeof this.#fields === "function") {
      this.#fields = this.#fields(parseText(this.bytes, this.#fields.parse));
    }
    return this.#fields as FieldValues;
  }

  /** The whole object as compact JSON with its resourceVersion, and a newline at the end. */
  get bytes(): Buffer {
    if (typeof this.#base !== "number") return this.#restored();
    return this.#start === 0 && this.#end === this.#memory.length
      ? this.#memory
      : this.#memory.subarray(this.#start, this.#end);
  }

  /** Length of `bytes`. */
  get length(): number {
    return typeof this.#base === "number"
      ? this.#end - this.#start
      : textLengthOf(this.#memory, this.#start);
  }

  /** How many bytes the object keeps in memory. */
  get keptLength(): number {
    return this.#end - this.#start;
  }

  /**
   * Where the bytes are now, for callers that copy them at once: `bytes` makes a view for each call.
   */
  get place(): ByteRange {
    if (typeof this.#base === "number") return this;
    const memory = this.#restored();
    return { memory, start: 0, end: memory.length };
  }

  /** The memory of a version that is not past. */
  get memory(): Buffer {
    return this.#memory;
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  /** Whether it is kept as its differences to another version. */
  get isPast(): boolean {
    return typeof this.#base !== "number";
  }

  /** Moves the bytes that it keeps; views of them stay valid. */
  moveTo(slabs: BytePlacer): void {
    const isPast = typeof this.#base !== "number";
    const kept = isPast ? this.#memory.subarray(this.#start, this.#end) : this.bytes;
    this.#putAt(slabs.put(kept));
  }

  /**
   * Keeps this version as its differences to an object that is the same in many registries, and shares its names.
   * @returns false: they are not alike, and nothing has changed
   */
  resemble(pattern: StoredObject, slabs: BytePlacer): boolean {
    if (typeof this.#base !== "number" || typeof pattern.#base !== "number") return false;
    const delta = encodeDelta(pattern.bytes, this.bytes);
    if (delta.length > this.length * ALIKE_SHARE_MAX) return false;
    this.#putAt(slabs.put(delta));
    this.#base = pattern;
    pattern.#base = Math.max(pattern.#base, 1);
    if (isSameMap(this.labels, pattern.labels)) this.labels = pattern.labels;
    return true;
  }

  /**
   * Reduces this version to its differences to another one, perhaps of another object, which stays plain for
   * now and is kept alive. Does nothing if that would save little.
   */
  becomePast(other: StoredObject, slabs: BytePlacer): void {
    if (this === other || typeof this.#base !== "number" || typeof other.#base !== "number") return;
    const inRow = this.#base + 1;
    if (inRow >= ROW_MAX || this.length === 0 || other.length === 0) return;
    const delta = encodeDelta(other.bytes, this.bytes);
    if (delta.length > this.length * DELTA_SHARE_MAX) return;
    this.#putAt(slabs.put(delta));
    this.#base = other;
    other.#base = Math.max(other.#base, inRow);
  }

  #putAt({ memory, start, end }: ByteRange): void {
    this.#memory = memory;
    this.#start = start;
    this.#end = end;
  }

  /** The bytes of a past version, rebuilt from the versions that it builds on. */
  #restored(): Buffer {
    const row: StoredObject[] = [];
    let plain: StoredObject = this;
    while (typeof plain.#base !== "number") {
      row.push(plain);
      plain = plain.#base;
    }
    assert(row.length <= ROW_MAX, "PastIsNear");
    let { bytes } = plain;
    for (const version of row.reverse()) {
      const delta = version.#memory.subarray(version.#start, version.#end);
      bytes = applyDelta(bytes, delta);
    }
    return bytes;
  }

  /**
   * Shares the strings of its names with another version of the same object, or with a neighbour's
   * namespace. Its own may be slices that keep longer strings alive.
   */
  shareNames(previous: StoredObject | undefined, namespace: string): void {
    if (previous !== undefined) {
      this.#path = previous.#path;
      this.#namespace = previous.#namespace;
      return;
    }
    const base = this.#base;
    if (typeof base !== "number" && base.#path === this.#path) {
      this.#path = base.#path;
      this.#namespace = base.#namespace;
      return;
    }
    this.#path = textOfItsOwn(this.#path);
    this.#namespace = namespace === this.#namespace ? namespace : textOfItsOwn(this.#namespace);
  }

  /** Replaces the extractor; the selectable fields are read on first use. */
  takeExtractor(extractFields: FieldExtractor | undefined): void {
    if (this.corruption === undefined) this.#fields = extractFields ?? NO_FIELDS;
  }

  /** A copy with some parts changed. */
  with(changes: Partial<StoredObjectParts>): StoredObject {
    const { path, namespace, revision, bytes, bodyOffset, labels, isTied, corruption } = this;
    const fields = this.#fields;
    const names = { path, namespace, revision };
    const parts = { ...names, bytes, bodyOffset, labels, isTied, fields, corruption };
    return new StoredObject({ ...parts, ...changes });
  }
}

function isSameMap(left: Labels, right: Labels): boolean {
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}

/** A slice shares the memory of its string; a copy does not. */
function textOfItsOwn(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

const METADATA_START = '"metadata":{';
const UID_START = '"uid":"';
const NO_LABELS: Labels = Object.freeze({});
const NO_FIELDS: FieldValues = Object.freeze({});
const NEWLINE = 0x0a;
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

function isTied({
  ownerReferences,
  deletionTimestamp,
}: Readonly<Record<string, unknown>>): boolean {
  return (
    (Array.isArray(ownerReferences) && ownerReferences.length > 0) ||
    (typeof deletionTimestamp === "string" && deletionTimestamp !== "")
  );
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

function revisionMember(revision: Revision): string {
  return `"resourceVersion":"${revision}"`;
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

/** @param metadataAt where the metadata's first member begins */
function planSplice(value: Buffer, metadataAt: number, uid: string, revision: Revision): Splice {
  const uidAt = uid === "" ? -1 : uidPosition(value, uid, metadataAt);
  const at = uidAt < 0 ? metadataAt : uidAt + UID_START.length + uid.length + 1;
  const isEmpty = uidAt < 0 && value[metadataAt] === 0x7d;
  const field = revisionMember(revision);
  const text = uidAt < 0 ? (isEmpty ? field : `${field},`) : `,${field}`;
  return { at, text, length: value.length + text.length + 1 };
}

function writeSpliced(
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

interface ParsedValue {
  readonly object: Readonly<Record<string, unknown>>;
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** @throws {SyntaxError} @throws {Error} for what is no object */
function parseText(
  value: Buffer,
  parse: FieldExtractor["parse"] = JSON.parse,
): ParsedValue["object"] {
  const text = value.toString("utf8");
  const object = parse(text);
  if (!isRecord(object)) throw new Error("the stored value is not an object");
  if (MAY_BE_BEYOND.test(text) && holdsInfinity(object)) {
    throw new Error("the stored object has a number beyond a double");
  }
  return object;
}

/** A number with an exponent of three digits, or with two hundred digits: most clients cannot read what a double cannot hold. */
const MAY_BE_BEYOND = /[:,[\s]-?\d(?:[\d.]*[eE]\+?\d{3}|\d{200})/;

function holdsInfinity(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
  return Object.values(value).some(holdsInfinity);
}

/** @throws {Error} for what is no object with metadata */
function parseStored(value: Buffer, parse: FieldExtractor["parse"]): ParsedValue {
  const object = parseText(value, parse);
  const { kind, apiVersion, metadata } = object;
  if (typeof kind !== "string" || typeof apiVersion !== "string") {
    throw new Error("the stored object has no kind or apiVersion");
  }
  if (!isRecord(metadata)) throw new Error("the stored object has no metadata");
  return { object, kind, apiVersion, metadata };
}

/** The same for text that we have not written: its metadata is written anew, all else stays as it is. */
function spliceForeign(
  value: Buffer,
  metadata: ParsedValue["metadata"],
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
