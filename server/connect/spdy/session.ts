/**
 * SpdySession: the streams of an SPDY/3.1 connection (the protocol of node agents, limited to what they
 * use: no priorities, windows or settings). Can be either end.
 *
 *   client                                server
 *     SYN_STREAM 1 {streamtype: error}  ─►
 *                                       ◄─ SYN_REPLY 1
 *     SYN_STREAM 3 {streamtype: stdin}  ─►
 *                                       ◄─ SYN_REPLY 3
 *     DATA 3 "ls\n", DATA 3 (last)      ─►
 *                                       ◄─ DATA 1 '{"status":"Success"}' (last)
 *
 * A stream is a Duplex. Frames are processed in order: a slow reader of one stream blocks the connection,
 * as in other implementations. The end of the connection ends all streams, with an error if they are
 * unfinished.
 */
import { Duplex } from "node:stream";
import {
  dataHead,
  type Frame,
  FrameReader,
  goaway,
  ping,
  RESET_STATUS,
  rstStream,
  synReply,
  synStream,
} from "./frames.js";
import { HeaderBlockReader, HeaderBlockWriter, type StreamHeaders } from "./header-blocks.js";

export interface SpdySessionOptions {
  /** Whether this end opened the connection; it decides odd or even stream numbers. */
  readonly isClient: boolean;
  /** Receives streams that the other end opens; absent = they are refused. Answer with `reply`. */
  readonly onStream?: (stream: SpdyStream) => void;
}

/** Open streams of the other end at most. */
const STREAMS_MAX = 1_024;
/** Of one data frame. */
const DATA_BYTES_MAX = 64 * 1024;
/** Time limit for the last writes of a closed session. */
const LINGER_MS = 5_000;

export class SpdySession {
  /** Resolves when the connection has ended; never rejects. */
  readonly closed: Promise<void>;
  readonly #socket: Duplex;
  readonly #options: SpdySessionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #writer = new HeaderBlockWriter();
  readonly #reader = new HeaderBlockReader();
  #nextId: number;
  #lastSeenId = 0;
  #isOver = false;

  /** The session takes over the connection. */
  constructor(socket: Duplex, options: SpdySessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.isClient ? 1 : 2;
    socket.on("error", () => {});
    this.closed = this.#run();
  }

  /** The number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** Resolves when the other end accepts the stream. @throws {Error} if it refuses, or the session ends */
  async open(headers: StreamHeaders): Promise<SpdyStream> {
    if (this.#isOver) throw new Error("the connection is closed");
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#add(id, {});
    this.#socket.write(synStream(id, this.#writer.write(headers)));
    await stream.replied;
    return stream;
  }

  /** Flushes pending writes, then ends the connection. */
  close(): void {
    if (this.#isOver) return;
    this.#socket.end(goaway(this.#lastSeenId));
    const timer = setTimeout(() => this.#socket.destroy(), LINGER_MS);
    timer.unref();
    this.#socket.once("close", () => clearTimeout(timer));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #run(): Promise<void> {
    let failure: Error | undefined;
    try {
      const frames = new FrameReader();
      for await (const chunk of this.#socket as AsyncIterable<Buffer>) {
        frames.push(chunk);
        for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
          const wait = this.#handle(frame);
          if (wait !== undefined) await wait;
        }
      }
    } catch (error) {
      failure = error as Error;
    }
    this.#isOver = true;
    this.#socket.destroy();
    this.#reader.close();
    for (const stream of [...this.#streams.values()]) stream.endsWithSession(failure);
    this.#streams.clear();
  }

  /** @returns a promise that the next frame must wait for */
  #handle(frame: Frame): Promise<void> | undefined {
    switch (frame.type) {
      case "data": {
        const stream = this.#streams.get(frame.streamId);
        // A stream that we dropped may still receive data.
        return stream?.receive(frame.data, frame.isLast);
      }
      case "syn-stream":
        return this.#accept(frame.streamId, frame.isLast, frame.block);
      case "syn-reply":
      case "headers":
        return this.#readReply(frame.streamId, frame.isLast, frame.block);
      case "rst-stream":
        this.#streams.get(frame.streamId)?.wasReset(frame.status);
        return undefined;
      case "ping":
        // Pings with our parity are replies to ours and need no answer.
        if ((frame.id & 1) !== (this.#nextId & 1)) this.#socket.write(ping(frame.id));
        return undefined;
      default:
        return undefined;
    }
  }

  async #accept(id: number, isLast: boolean, block: Buffer): Promise<void> {
    // Reads it even for a refused stream, because all blocks share one zlib stream.
    const headers = await this.#reader.read(block);
    const isTheirs = (id & 1) !== (this.#nextId & 1);
    if (!isTheirs || id <= this.#lastSeenId) throw new Error("a stream has a wrong number");
    this.#lastSeenId = id;
    const { onStream } = this.#options;
    if (onStream === undefined || this.#streams.size >= STREAMS_MAX) {
      this.#socket.write(rstStream(id, RESET_STATUS.refused));
      return;
    }
    const stream = this.#add(id, headers);
    onStream(stream);
    if (isLast) await stream.receive(Buffer.alloc(0), true);
  }

  async #readReply(id: number, isLast: boolean, block: Buffer): Promise<void> {
    await this.#reader.read(block);
    const stream = this.#streams.get(id);
    stream?.wasAccepted();
    if (isLast) await stream?.receive(Buffer.alloc(0), true);
  }

  #add(id: number, headers: StreamHeaders): SpdyStream {
    const stream = new SpdyStream(id, headers, {
      write: (frames, done) => this.#write(frames, done),
      reply: () => this.#socket.write(synReply(id, this.#writer.write({}))),
      forget: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    return stream;
  }

  #write(frames: readonly Buffer[], done: (error?: Error | null) => void): void {
    if (this.#isOver || !this.#socket.writable) {
      done(new Error("the connection is closed"));
      return;
    }
    this.#socket.cork();
    for (const [at, frame] of frames.entries()) {
      if (at === frames.length - 1) this.#socket.write(frame, done);
      else this.#socket.write(frame);
    }
    this.#socket.uncork();
  }
}

interface StreamLine {
  write(frames: readonly Buffer[], done: (error?: Error | null) => void): void;
  reply(): void;
  forget(): void;
}

export class SpdyStream extends Duplex {
  readonly id: number;
  /** The headers from the other end; names in lower case. */
  readonly headers: StreamHeaders;
  /** Resolves when the other end accepts the stream. */
  readonly replied: Promise<void>;
  readonly #line: StreamLine;
  #settle: { resolve(): void; reject(error: Error): void } | undefined;
  #onRoom: (() => void) | undefined;
  #hasEnded = false;
  #wasReset = false;

  constructor(id: number, headers: StreamHeaders, line: StreamLine) {
    super({ allowHalfOpen: true });
    this.id = id;
    this.headers = headers;
    this.#line = line;
    this.replied = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // A caller may ignore this promise.
    this.replied.catch(() => {});
    this.on("error", () => {});
  }

  /** Accepts a stream that the other end opened. */
  reply(): void {
    this.#line.reply();
  }

  wasAccepted(): void {
    this.#settle?.resolve();
  }

  /** @returns a promise to wait for until there is room */
  receive(data: Buffer, isLast: boolean): Promise<void> | undefined {
    if (this.destroyed || this.#hasEnded) return undefined;
    const hasRoom = data.length === 0 || this.push(data);
    if (isLast) {
      this.#hasEnded = true;
      this.push(null);
    }
    if (hasRoom) return undefined;
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  wasReset(status: number): void {
    this.#wasReset = true;
    this.destroy(new Error(`the stream was reset with status ${status}`));
  }

  endsWithSession(error: Error | undefined): void {
    this.#wasReset = true;
    const why = error ?? new Error("the connection was closed");
    this.#settle?.reject(why);
    // Data received before the end may still be read.
    if (!this.#hasEnded) this.destroy(why);
  }

  override _read(): void {
    this.#onRoom?.();
    this.#onRoom = undefined;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const frames: Buffer[] = [];
    for (let at = 0; at < chunk.length; at += DATA_BYTES_MAX) {
      const part = chunk.subarray(at, at + DATA_BYTES_MAX);
      frames.push(dataHead(this.id, part.length, false), part);
    }
    if (frames.length === 0) done();
    else this.#line.write(frames, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#line.write([dataHead(this.id, 0, true)], () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#settle?.reject(error ?? new Error("the stream was given up"));
    this.#onRoom?.();
    this.#onRoom = undefined;
    this.#line.forget();
    const isOver = this.#wasReset || (this.#hasEnded && this.writableFinished);
    if (!isOver) this.#line.write([rstStream(this.id, RESET_STATUS.cancel)], () => {});
    done(error);
  }
}
