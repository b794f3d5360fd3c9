/**
 * Frames of SPDY/3.1: parsing and encoding. Pure but for the rest of an unfinished frame. Data is passed
 * on as it arrives, so a frame of 16 MiB costs no memory; other frames are buffered up to their size
 * limit.
 *
 *   +-+-----------------+-----------------+     +-+---------------------------+
 *   |1| version = 3 (15)|    type (16)    |     |0|       stream id (31)      |
 *   +-+------+----------+-----------------+     +-+------+--------------------+
 *   | flags 8|        length (24)         |     | flags 8|    length (24)     |
 */

export type Frame =
  | {
      readonly type: "syn-stream" | "syn-reply" | "headers";
      readonly streamId: number;
      /** The sender's last frame on this stream. */
      readonly isLast: boolean;
      readonly block: Buffer;
    }
  | {
      readonly type: "data";
      readonly streamId: number;
      readonly isLast: boolean;
      readonly data: Buffer;
    }
  | { readonly type: "rst-stream"; readonly streamId: number; readonly status: number }
  | { readonly type: "ping"; readonly id: number }
  | { readonly type: "goaway" }
  /** Settings, windows (which neither end uses) and other frames. */
  | { readonly type: "other" };

const VERSION = 3;
const HEAD_BYTES = 8;
const FLAG_LAST = 1;
const STREAM_ID_MASK = 0x7fffffff;
const CONTROL_BYTES_MAX = 64 * 1024;

const TYPES: Readonly<Record<number, Exclude<Frame["type"], "data" | "other">>> = {
  1: "syn-stream",
  2: "syn-reply",
  3: "rst-stream",
  6: "ping",
  7: "goaway",
  8: "headers",
};

/** Offset of the header block after the frame head. */
const BLOCK_STARTS = { "syn-stream": 10, "syn-reply": 4, headers: 4 } as const;

const MIN_BYTES: Readonly<Record<string, number>> = {
  ...BLOCK_STARTS,
  "rst-stream": 8,
  ping: 4,
};

/** A data frame in progress. */
interface OpenData {
  readonly streamId: number;
  readonly isLast: boolean;
  left: number;
}

export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;
  #data: OpenData | undefined;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** undefined until more data arrives. @throws {Error} for an invalid frame */
  next(): Frame | undefined {
    if (this.#data !== undefined) return this.#nextData(this.#data);
    if (this.#length < HEAD_BYTES) return undefined;
    const head = this.#peek(HEAD_BYTES);
    const [first, second] = [head.readUInt32BE(0), head.readUInt32BE(4)];
    const isLast = ((second >>> 24) & FLAG_LAST) !== 0;
    const length = second & 0xffffff;
    if (first < 0x80000000) {
      this.#take(HEAD_BYTES);
      this.#data = { streamId: first, isLast, left: length };
      return this.#nextData(this.#data);
    }
    if (((first >>> 16) & 0x7fff) !== VERSION) throw new Error("not a frame of SPDY/3.1");
    if (length > CONTROL_BYTES_MAX) throw new Error("a control frame is too long");
    if (this.#length < HEAD_BYTES + length) return undefined;
    this.#take(HEAD_BYTES);
    return controlFrame(first & 0xffff, isLast, this.#take(length));
  }

  #nextData(data: OpenData): Frame | undefined {
    if (data.left > 0 && this.#length === 0) return undefined;
    const [chunk] = this.#chunks;
    // Whole chunks, without copying.
    const bytes = this.#take(Math.min(data.left, chunk?.length ?? 0));
    data.left -= bytes.length;
    const isOver = data.left === 0;
    if (isOver) this.#data = undefined;
    return { type: "data", streamId: data.streamId, isLast: data.isLast && isOver, data: bytes };
  }

  /** The next bytes, which are available, joined at the front. */
  #peek(count: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= count) return first;
    this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  #take(count: number): Buffer {
    if (count === 0) return Buffer.alloc(0);
    const first = this.#peek(count);
    this.#length -= count;
    if (first.length === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
    return first.subarray(0, count);
  }
}

function controlFrame(code: number, isLast: boolean, body: Buffer): Frame {
  const type = TYPES[code];
  if (type === undefined) return { type: "other" };
  if (body.length < (MIN_BYTES[type] ?? 0)) throw new Error("a control frame is too short");
  const word = (at: number) => body.readUInt32BE(at);
  switch (type) {
    case "goaway":
      return { type };
    case "ping":
      return { type, id: word(0) };
    case "rst-stream":
      return { type, streamId: word(0) & STREAM_ID_MASK, status: word(4) };
    default: {
      const block = body.subarray(BLOCK_STARTS[type]);
      return { type, streamId: word(0) & STREAM_ID_MASK, isLast, block };
    }
  }
}

export function dataHead(streamId: number, length: number, isLast: boolean): Buffer {
  return words(streamId, withFlags(length, isLast));
}

export function synStream(streamId: number, block: Buffer): Buffer {
  // No associated stream, highest priority, no credential slot.
  const body = Buffer.concat([words(streamId, 0), Buffer.alloc(2), block]);
  return control(1, body);
}

export function synReply(streamId: number, block: Buffer): Buffer {
  return control(2, Buffer.concat([words(streamId), block]));
}

/** Reasons for a reset stream (section 2.6.3). */
export const RESET_STATUS = Object.freeze({ protocolError: 1, refused: 3, cancel: 5 });

export function rstStream(streamId: number, status: number): Buffer {
  return control(3, words(streamId, status));
}

export function ping(id: number): Buffer {
  return control(6, words(id));
}

export function goaway(lastStreamId: number): Buffer {
  return control(7, words(lastStreamId, 0));
}

function control(code: number, body: Buffer): Buffer {
  const head = words((0x80000000 | (VERSION << 16) | code) >>> 0, withFlags(body.length, false));
  return Buffer.concat([head, body]);
}

function withFlags(length: number, isLast: boolean): number {
  return ((isLast ? FLAG_LAST << 24 : 0) | length) >>> 0;
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at);
  return bytes;
}
