/**
 * BenchConnection over HTTP/2 (RFC 9113): many requests at a time on one connection, as client-go has
 * them. Of an answer's headers only the status is read, for which the server's dynamic table is turned
 * off.
 */
import type { TLSSocket } from "node:tls";
import {
  type BenchAnswer,
  type BenchConnection,
  type BenchRequest,
  Incoming,
  openTls,
  type Target,
} from "./connection.js";
import { HpackEncoder } from "./hpack-encoder.js";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const HEADER_BYTES = 9;
const [DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const [ACK, END_STREAM, END_HEADERS] = [0x1, 0x1, 0x4];
const HEADER_TABLE_SIZE = 1;
const INITIAL_WINDOW_SIZE = 4;
/** Of Go's client: so much for one stream, and a gigabyte for all together. */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 1024 * 1024 * 1024;
const FIRST_WINDOW_BYTES = 65_535;
/** What the server lets us have at least; requests here are smaller. */
const FRAME_BYTES_MAX = 16_384;
/** Below the 250 that the server allows. */
const LANES = 200;

/** Status codes with an entry of their own in the static table (RFC 7541, appendix A). */
const STATIC_STATUS = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATIC_STATUS = 0x88;

export class Http2Connection implements BenchConnection {
  readonly lanes = LANES;
  readonly #socket: TLSSocket;
  readonly #encoder = new HpackEncoder();
  readonly #streams = new Map<number, { incoming: Incoming; unacknowledged: number }>();
  #unacknowledged = 0;
  #nextStream = 1;
  #pending: Buffer | undefined;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (piece: Buffer) => this.#take(piece));
    const fail = (error: Error) => {
      for (const { incoming } of this.#streams.values()) incoming.fail(error);
    };
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the connection was closed")));
    const settings = Buffer.alloc(12);
    settings.writeUInt16BE(HEADER_TABLE_SIZE, 0);
    settings.writeUInt16BE(INITIAL_WINDOW_SIZE, 6);
    settings.writeUInt32BE(STREAM_WINDOW_BYTES, 8);
    const window = uint32(CONNECTION_WINDOW_BYTES - FIRST_WINDOW_BYTES);
    socket.write(
      Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, settings), frame(WINDOW_UPDATE, 0, 0, window)]),
    );
  }

  static async open(target: Target): Promise<Http2Connection> {
    return new Http2Connection(await openTls(target, "h2"));
  }

  request({ method, path, headers = {}, body, onData }: BenchRequest): Promise<BenchAnswer> {
    const id = this.#nextStream;
    this.#nextStream += 2;
    const incoming = new Incoming(onData);
    this.#streams.set(id, { incoming, unacknowledged: 0 });
    const fields: [string, string][] = [
      [":method", method],
      [":scheme", "https"],
      [":path", path],
      [":authority", "localhost"],
      ["user-agent", "bench"],
      // As client-go does, and every client that has the whole body.
      ...(body === undefined
        ? []
        : [["content-length", String(Buffer.byteLength(body))] as [string, string]]),
      ...Object.entries(headers).map(([name, value]): [string, string] => [
        name.toLowerCase(),
        value,
      ]),
    ];
    const block = this.#encoder.encode(fields);
    const flags = END_HEADERS | (body === undefined ? END_STREAM : 0);
    const frames = [frame(HEADERS, flags, id, block)];
    for (let rest = Buffer.from(body ?? ""); rest.length > 0; ) {
      const some = rest.subarray(0, FRAME_BYTES_MAX);
      rest = rest.subarray(some.length);
      frames.push(frame(DATA, rest.length === 0 ? END_STREAM : 0, id, some));
    }
    this.#socket.write(Buffer.concat(frames));
    return incoming.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(piece: Buffer): void {
    const bytes = this.#pending === undefined ? piece : Buffer.concat([this.#pending, piece]);
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const [type = 0, flags = 0] = [bytes[at + 3], bytes[at + 4]];
      this.#frame(type, flags, bytes.readUInt32BE(at + 5), bytes.subarray(at + HEADER_BYTES, end));
      at = end;
    }
    this.#pending = at === bytes.length ? undefined : bytes.subarray(at);
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (type === SETTINGS && (flags & ACK) === 0) this.#socket.write(frame(SETTINGS, ACK, 0));
    if (type === PING && (flags & ACK) === 0) this.#socket.write(frame(PING, ACK, 0, payload));
    if (type === GOAWAY) this.#socket.destroy(new Error("the server said goodbye"));
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    const { incoming } = stream;
    if (type === HEADERS) incoming.status = statusOf(payload);
    if (type === RESET) {
      this.#streams.delete(id);
      incoming.fail(new Error(`the stream was reset with ${payload.readUInt32BE(0)}`));
      return;
    }
    if (type === DATA) {
      incoming.take(payload);
      this.#acknowledge(id, stream, payload.length);
    }
    if ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0) {
      this.#streams.delete(id);
      incoming.end();
    }
  }

  /** Opens the windows again when half of them is used up. */
  #acknowledge(id: number, stream: { unacknowledged: number }, bytes: number): void {
    stream.unacknowledged += bytes;
    this.#unacknowledged += bytes;
    if (stream.unacknowledged > STREAM_WINDOW_BYTES / 2) {
      this.#socket.write(frame(WINDOW_UPDATE, 0, id, uint32(stream.unacknowledged)));
      stream.unacknowledged = 0;
    }
    if (this.#unacknowledged > CONNECTION_WINDOW_BYTES / 2) {
      this.#socket.write(frame(WINDOW_UPDATE, 0, 0, uint32(this.#unacknowledged)));
      this.#unacknowledged = 0;
    }
  }
}

function frame(type: number, flags: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(id, 5);
  payload.copy(bytes, HEADER_BYTES);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The status is the first field of an answer: an entry of the static table, or its three digits. */
function statusOf(block: Buffer): number {
  // A server may say first that its table has the size that we asked for.
  const at = block.findIndex((byte) => (byte & 0xe0) !== 0x20);
  const known = STATIC_STATUS[(block[at] ?? 0) - FIRST_STATIC_STATUS];
  if (known !== undefined) return known;
  const [length = 0] = block.subarray(at + 1);
  const value = block.subarray(at + 2, at + 2 + (length & 127));
  return length < 128 ? Number(value.toString("latin1")) : huffmanDigits(value);
}

/** Three digits in Huffman coding: 0 to 2 have five bits, 3 to 9 six (RFC 7541, appendix B). */
function huffmanDigits(bytes: Buffer): number {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let [at, status] = [0, 0];
  for (let digit = 0; digit < 3; digit++) {
    const five = Number.parseInt(bits.slice(at, at + 5), 2);
    const isShort = five < 3;
    const value = isShort ? five : Number.parseInt(bits.slice(at, at + 6), 2) - 0x19 + 3;
    at += isShort ? 5 : 6;
    status = status * 10 + value;
  }
  return status;
}
