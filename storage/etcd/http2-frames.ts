/**
 * HTTP/2 frames (RFC 9113, 4 and 6): a reader that splits a socket's bytes into frames, and the few
 * frames that a client of unary calls writes. Takes and returns bytes; knows no stream. Used by
 * LeanConnection.
 */

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const ERROR_CODE = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
} as const;

/** A connection error: the peer does not speak HTTP/2 as it must. */
export class Http2Error extends Error {
  override readonly name = "Http2Error";
  readonly code: number;

  constructor(code: number, message: string) {
    super(`the peer sent ${message}`);
    this.code = code;
  }
}

export const CONNECTION_PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

export const FRAME_HEADER_BYTES = 9;

/** The largest payload that a peer may send by default. */
export const FRAME_BYTES_MAX = 16_384;

/** The payload is a view of the received chunk, which stays valid while it is referenced. */
export type OnFrame = (type: number, flags: number, streamId: number, payload: Buffer) => void;

/**
 * Splits a byte stream into frames, whatever its chunks. Buffers at most one incomplete frame; a
 * byte is copied at most once.
 */
export class FrameReader {
  readonly #onFrame: OnFrame;
  /** A frame that began in one chunk and goes on in the next. */
  #partial: Buffer | undefined;
  #partialBytes = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /** @throws {Http2Error} a frame that is too long, or what `onFrame` throws */
  push(chunk: Buffer): void {
    let position = this.#partial === undefined ? 0 : this.#fill(this.#partial, chunk, 0);
    while (this.#partial === undefined && position < chunk.length) {
      const rest = chunk.length - position;
      const bytes = rest < FRAME_HEADER_BYTES ? 0 : frameBytes(chunk, position);
      if (bytes === 0 || rest < bytes) {
        // While a frame's length is unknown, only its header is buffered.
        position = this.#fill(Buffer.allocUnsafe(bytes || FRAME_HEADER_BYTES), chunk, position);
      } else {
        this.#give(chunk.subarray(position, position + bytes));
        position += bytes;
      }
    }
  }

  /** Appends the missing bytes from the chunk, and emits the frame if it is complete. */
  #fill(partial: Buffer, chunk: Buffer, start: number): number {
    const copied = chunk.copy(partial, this.#partialBytes, start);
    this.#partialBytes += copied;
    this.#partial = partial;
    const position = start + copied;
    if (this.#partialBytes < partial.length) return position;
    const bytes = frameBytes(partial, 0);
    if (partial.length < bytes) {
      const whole = Buffer.allocUnsafe(bytes);
      partial.copy(whole);
      return this.#fill(whole, chunk, position);
    }
    this.#partial = undefined;
    this.#partialBytes = 0;
    this.#give(partial);
    return position;
  }

  #give(frame: Buffer): void {
    const type = frame[3] ?? 0;
    const flags = frame[4] ?? 0;
    const streamId = frame.readUInt32BE(5) & 0x7fffffff;
    this.#onFrame(type, flags, streamId, frame.subarray(FRAME_HEADER_BYTES));
  }
}

/** The frame's size including its header. @throws {Http2Error} */
function frameBytes(buffer: Buffer, position: number): number {
  const length = buffer.readUIntBE(position, 3);
  if (length > FRAME_BYTES_MAX) throw new Http2Error(ERROR_CODE.frameSize, "a frame too large");
  return FRAME_HEADER_BYTES + length;
}

/** The content of a DATA or HEADERS frame without padding and priority. @throws {Http2Error} */
export function withoutPadding(flags: number, payload: Buffer): Buffer {
  let start = 0;
  let end = payload.length;
  if ((flags & FLAG.padded) !== 0) {
    end -= payload[0] ?? 0;
    start = 1;
  }
  if ((flags & FLAG.priority) !== 0) start += 5;
  if (start > end) throw new Http2Error(ERROR_CODE.protocol, "more padding than content");
  return payload.subarray(start, end);
}

/** Writes a frame's header at `position`; the payload follows it. */
export function writeFrameHeader(
  buffer: Buffer,
  position: number,
  frame: { readonly type: number; readonly flags: number; readonly streamId: number },
  payloadBytes: number,
): number {
  buffer.writeUIntBE(payloadBytes, position, 3);
  buffer[position + 3] = frame.type;
  buffer[position + 4] = frame.flags;
  buffer.writeUInt32BE(frame.streamId, position + 5);
  return position + FRAME_HEADER_BYTES;
}

export function encodeSettings(
  settings: readonly (readonly [id: number, value: number])[],
): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + settings.length * 6);
  const header = { type: FRAME.settings, flags: 0, streamId: 0 };
  let position = writeFrameHeader(frame, 0, header, settings.length * 6);
  for (const [id, value] of settings) {
    frame.writeUInt16BE(id, position);
    frame.writeUInt32BE(value, position + 2);
    position += 6;
  }
  return frame;
}

export function encodeSettingsAck(): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES);
  writeFrameHeader(frame, 0, { type: FRAME.settings, flags: FLAG.ack, streamId: 0 }, 0);
  return frame;
}

/** @param content 8 bytes */
export function encodePing(content: Buffer, isAck: boolean): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + 8);
  const header = { type: FRAME.ping, flags: isAck ? FLAG.ack : 0, streamId: 0 };
  content.copy(frame, writeFrameHeader(frame, 0, header, 8));
  return frame;
}

/** A frame whose payload is one number: RST_STREAM and WINDOW_UPDATE. */
export function encodeNumberFrame(type: number, streamId: number, value: number): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + 4);
  frame.writeUInt32BE(value, writeFrameHeader(frame, 0, { type, flags: 0, streamId }, 4));
  return frame;
}

/** No stream of the peer was processed: it may open none. */
export function encodeGoaway(code: number): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + 8);
  const header = { type: FRAME.goaway, flags: 0, streamId: 0 };
  frame.writeUInt32BE(code, writeFrameHeader(frame, 0, header, 8) + 4);
  return frame;
}
