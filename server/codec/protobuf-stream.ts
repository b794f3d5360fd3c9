/**
 * Lists and watch events in Protobuf around encoded objects, so that each object is encoded once for
 * all receivers. A message begins with its length, so the item sizes come first. Pure; knows no type.
 */
import { default as protobuf } from "protobufjs/minimal.js";
import type { EnvelopeFrame } from "./protobuf-envelope.js";
import { LENGTH_DELIMITED, tagOf } from "./protobuf-wire.js";

/** The field of every list kind; 1 is its metadata. */
const ITEMS_TAG = tagOf(2, LENGTH_DELIMITED);

/** The size of a list item with an object of `bytes`. */
export function itemSize(bytes: number): number {
  return 1 + varintSize(bytes) + bytes;
}

/** The bytes before a list item of `bytes`. */
export function itemHead(bytes: number): Buffer {
  const head = Buffer.allocUnsafe(1 + varintSize(bytes));
  head[0] = ITEMS_TAG;
  putVarint(head, 1, bytes);
  return head;
}

/**
 * The bytes before the first item of a list; `frame.foot` ends it.
 * @param metadata the list's message without items
 * @param itemsBytes the sum of `itemSize` over all items
 */
export function listHead(frame: EnvelopeFrame, metadata: Uint8Array, itemsBytes: number): Buffer {
  const length = metadata.length + itemsBytes;
  const at = frame.head.length;
  const head = Buffer.allocUnsafe(at + varintSize(length) + metadata.length);
  head.set(frame.head);
  head.set(metadata, putVarint(head, at, length));
  return head;
}

const FRAME_LENGTH_BYTES = 4;

/**
 * The bytes before the object in a watch frame (S1-PB-09): the frame's length, then a bare WatchEvent
 * that ends with the object.
 * @param objectBytes the size of the object in its envelope
 */
export function watchFrameHead(type: string, objectBytes: number): Buffer {
  const writer = protobuf.Writer.create()
    .uint32(tagOf(1, LENGTH_DELIMITED))
    .string(type)
    .uint32(tagOf(2, LENGTH_DELIMITED))
    .uint32(itemSize(objectBytes))
    .uint32(tagOf(1, LENGTH_DELIMITED))
    .uint32(objectBytes);
  const event = writer.finish();
  const head = Buffer.allocUnsafe(FRAME_LENGTH_BYTES + event.length);
  head.writeUInt32BE(event.length + objectBytes, 0);
  head.set(event, FRAME_LENGTH_BYTES);
  return head;
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** @returns the position after it */
function putVarint(buffer: Buffer, at: number, value: number): number {
  let position = at;
  let rest = value;
  while (rest >= 128) {
    buffer[position++] = (rest % 128) | 128;
    rest = Math.floor(rest / 128);
  }
  buffer[position++] = rest;
  return position;
}
