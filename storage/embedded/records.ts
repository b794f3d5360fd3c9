/**
 * The bytes of the embedded store: how keys, versions and log entries are written into lmdb. Pure
 * functions; embedded-store.ts explains the layout and shows a worked example.
 *
 * Revisions are written as big-endian IEEE doubles: exact up to 2^53-1, and for numbers >= 0 their
 * byte order is their numeric order, so they sort as lmdb keys.
 *
 * Every record begins with its checksum, a CRC-32 of its key and of what follows.
 */
import { crc32 } from "../base/crc32.js";
import type { KeyValue, Revision } from "../kv/store.js";

/** Longest key. lmdb takes 1,978 bytes, and a history key adds 9 to it. API keys stay below 1,000. */
export const KEY_BYTES_MAX = 1900;

const CHECKSUM_BYTES = 4;
/** A version in `current` is (checksum, modRevision, createRevision, lease), then the value. */
const MOD_OFFSET = 4;
const CREATE_OFFSET = 12;
const LEASE_OFFSET = 20;
const VERSION_HEADER_BYTES = 28;

/** lmdb's interface for a key type: write into its buffer, read back from it. */
export interface KeyEncoder<K> {
  writeKey(key: K | Uint8Array, target: Buffer, start: number): number;
  readKey(source: Buffer, start: number, end: number): K;
}

/** Text as UTF-8 bytes, so that lmdb's order is the contract's byte order. */
export const textKeyEncoder: KeyEncoder<string> = {
  writeKey: (key, target, start) =>
    typeof key === "string" ? writeText(key, target, start) : writeBytes(key, target, start),
  readKey: (source, start, end) => source.toString("utf8", start, end),
};

/** A revision or a lease number. */
export const numberKeyEncoder: KeyEncoder<number> = {
  writeKey(key, target, start) {
    if (typeof key !== "number") return writeBytes(key, target, start);
    if (start + 8 > target.length) throw new RangeError("no room for a key");
    return target.writeDoubleBE(key, start);
  },
  readKey: (source, start) => source.readDoubleBE(start),
};

/** A version in history: the key, a zero byte, its modRevision. */
export interface HistoryKey {
  readonly key: string;
  readonly mod: number;
}

export const historyKeyEncoder: KeyEncoder<HistoryKey> = {
  writeKey(key, target, start) {
    if (key instanceof Uint8Array) return writeBytes(key, target, start);
    const end = writeText(key.key, target, start);
    if (end + 9 > target.length) throw new RangeError("no room for a key");
    target[end] = 0;
    return target.writeDoubleBE(key.mod, end + 1);
  },
  readKey: (source, start, end) => ({
    key: source.toString("utf8", start, end - 9),
    mod: source.readDoubleBE(end - 8),
  }),
};

/** A key bound to a lease: the lease number, then the key. */
export interface LeasedKey {
  readonly lease: number;
  readonly key: string;
}

export const leasedKeyEncoder: KeyEncoder<LeasedKey> = {
  writeKey(key, target, start) {
    if (key instanceof Uint8Array) return writeBytes(key, target, start);
    if (start + 8 > target.length) throw new RangeError("no room for a key");
    return writeText(key.key, target, target.writeDoubleBE(key.lease, start));
  },
  readKey: (source, start, end) => ({
    lease: source.readDoubleBE(start),
    key: source.toString("utf8", start + 8, end),
  }),
};

/** lmdb lends its own buffer and takes a RangeError as "retry with more room". */
function writeText(text: string, target: Buffer, start: number): number {
  // A code unit takes at most three bytes; only near the end is it worth counting them.
  if (start + text.length * 3 > target.length && start + Buffer.byteLength(text) > target.length) {
    throw new RangeError("no room for a key");
  }
  return start + target.write(text, start, "utf8");
}

function writeBytes(bytes: Uint8Array, target: Buffer, start: number): number {
  target.set(bytes, start);
  return start + bytes.length;
}

/** A copy of the value behind an empty header, which is filled in once the revision is known. */
export function newVersion(value: Uint8Array): Buffer {
  const version = Buffer.allocUnsafe(VERSION_HEADER_BYTES + value.length);
  version.set(value, VERSION_HEADER_BYTES);
  return version;
}

/** Fills in the header of a version. */
export function stampVersion(version: Buffer, { key, mod, create, lease }: VersionHeader): void {
  version.writeDoubleBE(mod, MOD_OFFSET);
  version.writeDoubleBE(create, CREATE_OFFSET);
  version.writeDoubleBE(lease, LEASE_OFFSET);
  seal(currentSeed(key), version);
}

export interface VersionHeader {
  readonly key: string;
  readonly mod: number;
  readonly create: number;
  readonly lease: number;
}

/**
 * In `history` the first field says at which revision the version ended; its key says the mod.
 * @param isDamaged it did not match its checksum in `current`, and must not match one again
 */
export function stampEnd(version: Buffer, key: HistoryKey, end: number, isDamaged: boolean): void {
  version.writeDoubleBE(end, MOD_OFFSET);
  seal(endedSeed(key), version);
  if (isDamaged) version[0] = (version[0] as number) ^ 1;
}

/** The bytes of a damaged version, with room for the header of an ended one. */
export function endable(version: Buffer): Buffer {
  if (version.length >= VERSION_HEADER_BYTES) return version;
  return Buffer.concat([version, Buffer.alloc(VERSION_HEADER_BYTES)]);
}

export function isSealedCurrent(key: string, version: Buffer): boolean {
  return version.length >= VERSION_HEADER_BYTES && isSealed(currentSeed(key), version);
}

export function isSealedEnded(key: HistoryKey, version: Buffer): boolean {
  return version.length >= VERSION_HEADER_BYTES && isSealed(endedSeed(key), version);
}

function currentSeed(key: string): number {
  return crc32(key);
}

function endedSeed({ key, mod }: HistoryKey): number {
  const bytes = Buffer.allocUnsafe(key.length * 3 + 8);
  const end = bytes.write(key);
  return crc32(bytes.subarray(0, bytes.writeDoubleBE(mod, end)));
}

function numberSeed(key: number): number {
  return crc32(encodeNumbers(key));
}

function seal(seed: number, record: Buffer): void {
  record.writeUInt32BE(crc32(record.subarray(CHECKSUM_BYTES), seed), 0);
}

function isSealed(seed: number, record: Buffer): boolean {
  if (record.length < CHECKSUM_BYTES) return false;
  return record.readUInt32BE(0) === crc32(record.subarray(CHECKSUM_BYTES), seed);
}

/** The form of a record in stores of format 1, which had no checksums, with its checksum. */
export function withChecksum(table: SealedTable, key: string | number | HistoryKey, old: Buffer) {
  const record = Buffer.allocUnsafe(CHECKSUM_BYTES + old.length);
  record.set(old, CHECKSUM_BYTES);
  const seed =
    table === "history"
      ? endedSeed(key as HistoryKey)
      : typeof key === "number"
        ? numberSeed(key)
        : currentSeed(String(key));
  seal(seed, record);
  return record;
}

export type SealedTable = "current" | "history" | "log" | "leases";

export function modOf(version: Buffer): number {
  return version.length < VERSION_HEADER_BYTES ? 0 : version.readDoubleBE(MOD_OFFSET);
}

export function endOf(version: Buffer): number {
  return modOf(version);
}

function createOf(version: Buffer): number {
  return version.readDoubleBE(CREATE_OFFSET);
}

export function leaseOf(version: Buffer): number {
  return version.readDoubleBE(LEASE_OFFSET);
}

/** The contract's form of a version; the value shares the version's memory. */
export function toKeyValue(key: string, mod: number, version: Buffer): KeyValue {
  return {
    key,
    value: version.subarray(VERSION_HEADER_BYTES),
    modRevision: mod as Revision,
    createRevision: createOf(version) as Revision,
  };
}

/** One operation of a committed transaction, without its value. */
export interface LogEntry {
  readonly type: "put" | "delete";
  readonly key: string;
  /** modRevision of the version that this operation ended; 0 = the key did not exist. */
  readonly previousMod: number;
}

const ENTRY_HEADER_BYTES = 11;
const PUT_TYPE = 1;
const DELETE_TYPE = 2;

/** A log record: its checksum, then for each operation its type, key length, previousMod and key. */
export function encodeLog(revision: number, entries: readonly LogEntry[]): Buffer {
  let length = CHECKSUM_BYTES;
  for (const { key } of entries) length += ENTRY_HEADER_BYTES + Buffer.byteLength(key);
  const record = Buffer.allocUnsafe(length);
  let offset = CHECKSUM_BYTES;
  for (const { type, key, previousMod } of entries) {
    const keyBytes = record.write(key, offset + ENTRY_HEADER_BYTES, "utf8");
    record.writeUInt8(type === "put" ? PUT_TYPE : DELETE_TYPE, offset);
    record.writeUInt16BE(keyBytes, offset + 1);
    record.writeDoubleBE(previousMod, offset + 3);
    offset += ENTRY_HEADER_BYTES + keyBytes;
  }
  seal(numberSeed(revision), record);
  return record;
}

/** @returns undefined: damaged */
export function decodeLog(revision: number, record: Buffer): LogEntry[] | undefined {
  if (!isSealed(numberSeed(revision), record)) return undefined;
  const entries: LogEntry[] = [];
  for (let offset = CHECKSUM_BYTES; offset < record.length; ) {
    const keyBytes = record.readUInt16BE(offset + 1);
    const keyStart = offset + ENTRY_HEADER_BYTES;
    entries.push({
      type: record.readUInt8(offset) === PUT_TYPE ? "put" : "delete",
      key: record.toString("utf8", keyStart, keyStart + keyBytes),
      previousMod: record.readDoubleBE(offset + 3),
    });
    offset = keyStart + keyBytes;
  }
  return entries;
}

function encodeNumbers(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(8 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeDoubleBE(number, 8 * index);
  return bytes;
}

/** Some numbers behind their checksum. @param key the record's key: a lease, or the name of a fact */
export function sealNumbers(key: string | number, ...numbers: readonly number[]): Buffer {
  const record = Buffer.concat([Buffer.alloc(CHECKSUM_BYTES), encodeNumbers(...numbers)]);
  seal(typeof key === "number" ? numberSeed(key) : currentSeed(key), record);
  return record;
}

/** @returns undefined: damaged */
export function openNumbers(key: string | number, record: Buffer): number[] | undefined {
  if (!isSealed(typeof key === "number" ? numberSeed(key) : currentSeed(key), record)) {
    return undefined;
  }
  const numbers: number[] = [];
  for (let at = CHECKSUM_BYTES; at < record.length; at += 8) numbers.push(record.readDoubleBE(at));
  return numbers;
}

/** A number without a checksum: the format itself, and facts of format 1. */
export function plainNumber(record: Buffer): number {
  return record.readDoubleBE(0);
}

export function toPlainNumber(number: number): Buffer {
  return encodeNumbers(number);
}

export interface KeyBounds {
  readonly start: Buffer;
  /** Exclusive. */
  readonly end: Buffer;
}

/**
 * The bounds of a prefix's keys strictly after `after`. Keys hold no zero byte, so the first
 * possible successor of a key is the key with a byte of 1; a zero would include its own history.
 */
export function boundsOf(prefix: string, after: string | undefined): KeyBounds {
  const first = Buffer.from(prefix);
  // Nothing sorts below an empty key; lmdb wants at least one byte.
  const start = first.length === 0 ? Buffer.of(1) : first;
  const end = firstAfterPrefix(first);
  if (after === undefined) return { start, end };
  const next = Buffer.concat([Buffer.from(after), Buffer.of(1)]);
  return { start: Buffer.compare(next, start) > 0 ? next : start, end };
}

/** The prefix with its last byte that is not 0xff raised by one; all keys if there is none. */
function firstAfterPrefix(prefix: Buffer): Buffer {
  for (let last = prefix.length - 1; last >= 0; last--) {
    const byte = prefix[last] ?? 0xff;
    if (byte < 0xff) return Buffer.concat([prefix.subarray(0, last), Buffer.of(byte + 1)]);
  }
  // UTF-8 has no byte 0xff.
  return Buffer.of(0xff);
}
