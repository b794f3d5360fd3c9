/**
 * The etcd v3 messages: Range, Txn, Watch, compaction, leases, and Status for the version. Field numbers
 * come from etcd's rpc.proto and kv.proto. Values in answers are views of the answer's memory.
 */

import { compareTexts } from "../base/compare-texts.js";
import type {
  Compare,
  KeyValue,
  LeaseId,
  Operation,
  Revision,
  StoreEvent,
  Transaction,
} from "../kv/store.js";
import { toRevision } from "../kv/store.js";
import { fieldSize, ProtobufReader, ProtobufWriter, varintSize } from "./protobuf.js";

const ZERO_REVISION = toRevision(0);

/** A range of keys: `end` excluded; absent = the one key. NUL alone means "from" or "to" all keys. */
export interface KeyRange {
  readonly key: string;
  readonly end?: string | Buffer;
}

export interface RangeCall extends KeyRange {
  readonly limit?: number;
  readonly revision?: Revision;
  readonly countOnly?: boolean;
}

export interface RangeAnswer {
  readonly revision: Revision;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

export interface TxnAnswer {
  readonly revision: Revision;
  readonly succeeded: boolean;
  /** The results of the transaction's ranges, in order. */
  readonly ranges: readonly (KeyValue | undefined)[];
}

export interface WatchCall extends KeyRange {
  readonly startRevision: number;
  readonly withPrevious: boolean;
}

export interface WatchAnswer {
  readonly revision: Revision;
  readonly isCreated: boolean;
  readonly isCanceled: boolean;
  /** Not 0: events before this revision, which the watch still needed, are gone. */
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** Whether the next answer continues this one. */
  readonly isFragment: boolean;
  readonly events: readonly StoreEvent[];
}

export interface StatusAnswer {
  readonly version: string;
  readonly clusterId: string;
}

/** The keys that start with `prefix`, from `after` (excluded) on. */
export function keysOf(prefix: string, after?: string): { key: string; end: string | Buffer } {
  const isAfterStart = after !== undefined && compareTexts(after, prefix) >= 0;
  const start = prefix === "" ? "\0" : prefix;
  return { key: isAfterStart ? `${after}\0` : start, end: prefixEnd(prefix) };
}

/** The smallest key above all keys that start with `prefix`; NUL = there is none. */
export function prefixEnd(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  for (let index = end.length - 1; index >= 0; index--) {
    const byte = end[index] ?? 0;
    if (byte < 255) {
      end[index] = byte + 1;
      return end.subarray(0, index + 1);
    }
  }
  return Buffer.from([0]);
}

export function encodeRange(call: RangeCall): Buffer {
  const size = rangeSize(call);
  const writer = new ProtobufWriter(size);
  writeRange(writer, call);
  return writer.buffer;
}

/** An empty request, such as Maintenance.Status's. */
export function encodeEmpty(): Buffer {
  return new ProtobufWriter(0).buffer;
}

/**
 * The transaction, with a read of each compared key if a compare fails, so that the caller gets the
 * current values without another round trip. Plain loops in small functions: V8 optimises it early,
 * and took 80 ms for it with iterators and callbacks copied into it.
 */
export function encodeTxn({ compares, operations }: Transaction): Buffer {
  const writer = new ProtobufWriter(comparesSize(compares) + operationsSize(operations));
  for (let at = 0; at < compares.length; at++) {
    const compare = compares[at] as Compare;
    writer.open(1, compareSize(compare));
    writeCompare(writer, compare);
  }
  for (let at = 0; at < operations.length; at++) {
    const operation = operations[at] as Operation;
    const bytes = operationSize(operation);
    writer.open(2, fieldSize(bytes));
    writer.open(operation.type === "put" ? 2 : 3, bytes);
    writeOperation(writer, operation);
  }
  for (let at = 0; at < compares.length; at++) writeRead(writer, compares[at] as Compare);
  return writer.buffer;
}

/** With the reads of their keys. */
function comparesSize(compares: readonly Compare[]): number {
  let size = 0;
  for (let at = 0; at < compares.length; at++) {
    const compare = compares[at] as Compare;
    size += fieldSize(compareSize(compare)) + fieldSize(fieldSize(rangeSize({ key: compare.key })));
  }
  return size;
}

function operationsSize(operations: readonly Operation[]): number {
  let size = 0;
  for (let at = 0; at < operations.length; at++) {
    size += fieldSize(fieldSize(operationSize(operations[at] as Operation)));
  }
  return size;
}

function writeRead(writer: ProtobufWriter, { key }: Compare): void {
  const read = { key };
  const bytes = rangeSize(read);
  writer.open(3, fieldSize(bytes));
  writer.open(1, bytes);
  writeRange(writer, read);
}

export function encodeWatchCreate(call: WatchCall): Buffer {
  const keyBytes = Buffer.byteLength(call.key);
  const end = toBytes(call.end ?? "");
  const size =
    fieldSize(keyBytes) +
    fieldSize(end.length) +
    (1 + varintSize(call.startRevision)) +
    // progress_notify and fragment always, prev_kv on request; two bytes each.
    (call.withPrevious ? 6 : 4);
  const writer = new ProtobufWriter(fieldSize(size));
  writer.open(1, size);
  writer.text(1, call.key, keyBytes);
  writer.bytes(2, end);
  writer.varint(3, call.startRevision);
  writer.varint(4, 1);
  if (call.withPrevious) writer.varint(6, 1);
  writer.varint(8, 1);
  return writer.buffer;
}

export function encodeWatchProgress(): Buffer {
  const writer = new ProtobufWriter(2);
  writer.open(3, 0);
  return writer.buffer;
}

/** Forgets the revisions before this one; etcd answers at once and removes them gradually. */
export function encodeCompaction(revision: Revision): Buffer {
  const writer = new ProtobufWriter(1 + varintSize(revision));
  writer.varint(1, revision);
  return writer.buffer;
}

/** A new lease, whose id etcd chooses. */
export function encodeLeaseGrant(ttlSeconds: number): Buffer {
  const writer = new ProtobufWriter(1 + varintSize(ttlSeconds));
  writer.varint(1, ttlSeconds);
  return writer.buffer;
}

export function decodeLeaseGrant(message: Buffer): LeaseId {
  const reader = new ProtobufReader(message);
  let id = "0";
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 2) id = reader.bigVarint();
    else reader.skip();
  }
  return id as LeaseId;
}

export function decodeRange(message: Buffer): RangeAnswer {
  return readRange(new ProtobufReader(message));
}

export function decodeTxn(message: Buffer): TxnAnswer {
  const reader = new ProtobufReader(message);
  let revision = ZERO_REVISION;
  let succeeded = false;
  const ranges: (KeyValue | undefined)[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) revision = readRevision(reader);
    else if (field === 2) succeeded = reader.varint() !== 0;
    else if (field === 3) readResponseOp(reader, ranges);
    else reader.skip();
  }
  return { revision, succeeded, ranges };
}

export function decodeWatch(message: Buffer): WatchAnswer {
  const reader = new ProtobufReader(message);
  let revision = ZERO_REVISION;
  let isCreated = false;
  let isCanceled = false;
  let compactRevision = 0;
  let cancelReason = "";
  let isFragment = false;
  const events: StoreEvent[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 11) events.push(readEvent(reader));
    else if (field === 1) revision = readRevision(reader);
    else if (field === 3) isCreated = reader.varint() !== 0;
    else if (field === 4) isCanceled = reader.varint() !== 0;
    else if (field === 5) compactRevision = reader.varint();
    else if (field === 6) cancelReason = reader.text();
    else if (field === 7) isFragment = reader.varint() !== 0;
    else reader.skip();
  }
  return { revision, isCreated, isCanceled, compactRevision, cancelReason, isFragment, events };
}

export function decodeStatus(message: Buffer): StatusAnswer {
  const reader = new ProtobufReader(message);
  let version = "";
  let clusterId = "0";
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) clusterId = readClusterId(reader);
    else if (field === 2) version = reader.text();
    else reader.skip();
  }
  return { version, clusterId };
}

/** The cluster in the header of a range's answer. */
export function decodeClusterId(message: Buffer): string {
  return decodeStatus(message).clusterId;
}

function toBytes(key: string | Buffer): Buffer {
  return typeof key === "string" ? Buffer.from(key) : key;
}

function rangeSize(call: RangeCall): number {
  let size = fieldSize(Buffer.byteLength(call.key));
  if (call.end !== undefined) size += fieldSize(Buffer.byteLength(call.end));
  if (call.limit) size += 1 + varintSize(call.limit);
  if (call.revision) size += 1 + varintSize(call.revision);
  if (call.countOnly) size += 2;
  return size;
}

function writeRange(writer: ProtobufWriter, call: RangeCall): void {
  writer.text(1, call.key, Buffer.byteLength(call.key));
  if (call.end !== undefined) writer.bytes(2, toBytes(call.end));
  if (call.limit) writer.varint(3, call.limit);
  if (call.revision) writer.varint(4, call.revision);
  if (call.countOnly) writer.varint(9, 1);
}

/** EQUAL is 0 and thus omitted; 2 is the target MOD. */
function compareSize(compare: Compare): number {
  return 2 + fieldSize(Buffer.byteLength(compare.key)) + 1 + varintSize(compare.modRevision);
}

function writeCompare(writer: ProtobufWriter, compare: Compare): void {
  writer.varint(2, 2);
  writer.text(3, compare.key, Buffer.byteLength(compare.key));
  writer.varint(6, compare.modRevision);
}

function operationSize(operation: Operation): number {
  const size = fieldSize(Buffer.byteLength(operation.key));
  if (operation.type === "delete") return size;
  return size + fieldSize(operation.value.length) + leaseSize(operation.lease);
}

function writeOperation(writer: ProtobufWriter, operation: Operation): void {
  writer.text(1, operation.key, Buffer.byteLength(operation.key));
  if (operation.type === "delete") return;
  writer.bytes(2, operation.value);
  if (operation.lease !== undefined) writer.bigVarint(3, BigInt(operation.lease));
}

function leaseSize(lease: LeaseId | undefined): number {
  if (lease === undefined) return 0;
  let size = 2;
  for (let rest = BigInt.asUintN(64, BigInt(lease)) >> 7n; rest > 0n; rest >>= 7n) size++;
  return size;
}

/** The revision in a ResponseHeader. Its ids are skipped: uint64 are slow to read. */
function readRevision(reader: ProtobufReader): Revision {
  const outer = reader.enter();
  let revision = ZERO_REVISION;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) revision = reader.revision();
    else reader.skip();
  }
  reader.leave(outer);
  return revision;
}

function readClusterId(reader: ProtobufReader): string {
  const outer = reader.enter();
  let clusterId = "0";
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) clusterId = reader.bigVarint();
    else reader.skip();
  }
  reader.leave(outer);
  return clusterId;
}

function readRange(reader: ProtobufReader): RangeAnswer {
  let revision = ZERO_REVISION;
  const kvs: KeyValue[] = [];
  let more = false;
  let count = 0;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 2) kvs.push(readKeyValue(reader));
    else if (field === 1) revision = readRevision(reader);
    else if (field === 3) more = reader.varint() !== 0;
    else if (field === 4) count = reader.varint();
    else reader.skip();
  }
  return { revision, kvs, more, count };
}

function readResponseOp(reader: ProtobufReader, ranges: (KeyValue | undefined)[]): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) {
      const end = reader.enter();
      ranges.push(readRange(reader).kvs[0]);
      reader.leave(end);
    } else {
      reader.skip();
    }
  }
  reader.leave(outer);
}

function readKeyValue(reader: ProtobufReader): KeyValue {
  const outer = reader.enter();
  let key = "";
  let value: Buffer | undefined;
  let modRevision = ZERO_REVISION;
  let createRevision = ZERO_REVISION;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) key = reader.text();
    else if (field === 2) createRevision = reader.revision();
    else if (field === 3) modRevision = reader.revision();
    else if (field === 5) value = reader.bytes();
    else reader.skip();
  }
  reader.leave(outer);
  return { key, value: value ?? Buffer.alloc(0), modRevision, createRevision };
}

function readEvent(reader: ProtobufReader): StoreEvent {
  const outer = reader.enter();
  let isDelete = false;
  let kv: KeyValue | undefined;
  let previous: KeyValue | undefined;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 2) kv = readKeyValue(reader);
    else if (field === 3) previous = readKeyValue(reader);
    else if (field === 1) isDelete = reader.varint() === 1;
    else reader.skip();
  }
  reader.leave(outer);
  const { key, modRevision } = kv ?? { key: "", modRevision: ZERO_REVISION };
  if (isDelete || kv === undefined) {
    const event = { type: "delete", key, modRevision } as const;
    return previous === undefined ? event : { ...event, previous };
  }
  return previous === undefined ? { type: "put", kv } : { type: "put", kv, previous };
}
