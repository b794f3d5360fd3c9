/**
 * StoredObject: one version of one object, as bytes. It holds the object's JSON with its resourceVersion, so a get
 * or a list writes what is already there. Only what selectors need is kept as values.
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
import type { Revision } from "../kv/store.js";
import type { BytePlacer, ByteRange } from "./byte-arena.js";
import { applyDelta, encodeDelta, textLengthOf } from "./byte-delta.js";
import { RestoredBytes } from "./restored-bytes.js";
import { type ObjectParser, parseObject } from "./stored-text.js";

export type Labels = Readonly<Record<string, string>>;

/** Values that field selectors may ask for, by path, besides metadata.name and metadata.namespace. */
export type FieldValues = Readonly<Record<string, string>>;

/** Reads an object's selectable fields; per partition, because only the server knows kinds. */
export interface FieldExtractor {
  (object: Readonly<Record<string, unknown>>): FieldValues;
  /** Reads the object's text, for kinds with integers that JSON.parse would round. Absent = JSON.parse. */
  readonly parse?: ObjectParser;
}

/** What an object without labels has. */
export const NO_LABELS: Labels = Object.freeze({});
/** What a kind without selectable fields has. */
export const NO_FIELDS: FieldValues = Object.freeze({});

/** Maximum length of a chain of versions that build on one another. */
const ROW_MAX = 16;
/** Differences larger than this share of the bytes are not stored as a delta. */
const DELTA_SHARE_MAX = 0.75;
/** The same for what many registries have alike. */
const ALIKE_SHARE_MAX = 0.5;

/** Of all registries of the process, which share its memory: a version does not know whose it is. */
const RESTORED = new RestoredBytes<StoredObject>();

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
      this.#fields = this.#fields(parseObject(this.bytes, this.#fields.parse));
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
    let known: Buffer | undefined;
    while (typeof plain.#base !== "number") {
      known = RESTORED.get(plain);
      if (known !== undefined) break;
      row.push(plain);
      plain = plain.#base;
    }
    assert(row.length <= ROW_MAX, "PastIsNear");
    let bytes = known ?? plain.bytes;
    for (const version of row.reverse()) {
      const delta = version.#memory.subarray(version.#start, version.#end);
      bytes = applyDelta(bytes, delta);
      RESTORED.keep(version, bytes);
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
