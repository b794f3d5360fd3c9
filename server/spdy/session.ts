/**
 * SpdySession: the streams of one connection that speaks SPDY/3.1 (the protocol of node agents; of its
 * parts only those that they use: no priorities, no windows, no settings). Either end may be this one.
 *
 *   client                                server
 *     SYN_STREAM 1 {streamtype: error}  ─►
 *                                       ◄─ SYN_REPLY 1
 *     SYN_STREAM 3 {streamtype: stdin}  ─►
 *                                       ◄─ SYN_REPLY 3
 *     DATA 3 "ls\n", DATA 3 (last)      ─►
 *                                       ◄─ DATA 1 '{"status":"Success"}' (last)
 *
 * A stream is a Duplex. Frames are handled in their order: where the reader of one stream is behind,
 * the connection waits, as it does at the other implementations. When the connection ends, so do all
 * streams, with an error where they were not over.
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
  /** Whether we began the connection; streams of the two ends have odd and even numbers. */
  readonly isClient: boolean;
  /** Takes streams that the other end begins; absent = they are refused. Answer with `reply`. */
  readonly onStream?: (stream: SpdyStream) => void;
}

/** Streams that the other end may have open at once. */
const STREAMS_MAX = 1_024;
/** Of one data frame. */
const DATA_BYTES_MAX = 64 * 1024;
/** How long what is written last may take, once the session is closed. */
const LINGER_MS = 5_000;

export class SpdySession {
  /** When the connection is over; never rejects. */
  readonly closed: Promise<void>;
  readonly #socket: Duplex;
  readonly #options: SpdySessionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #writer = new HeaderBlockWriter();
  readonly #reader = new HeaderBlockReader();
  #nextId: number;
  #lastSeenId = 0;
  #isOver = false;

  /** The connection is the session's from now on. */
  constructor(socket: Duplex, options: SpdySessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.isClient ? 1 : 2;
    socket.on("error", () => {});
    this.closed = this.#run();
  }

  /** Streams that are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** Resolves when the other end takes the stream. @throws {Error} when it does not, and when it ends */
  async open(headers: StreamHeaders): Promise<SpdyStream> {
    if (this.#isOver) throw new Error("the connection is closed");
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#add(id, {});
    this.#socket.write(synStream(id, this.#writer.write(headers)));
    await stream.replied;
    return stream;
  }

  /** Lets what was written go out, then ends the connection. */
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

  /** @returns what the next frame has to wait for */
  #handle(frame: Frame): Promise<void> | undefined {
    switch (frame.type) {
      case "data": {
        const stream = this.#streams.get(frame.streamId);
        // Of a stream that we gave up there may be more on its way.
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
        // Ours are the ones with our parity: nobody waits for them.
        if ((frame.id & 1) !== (this.#nextId & 1)) this.#socket.write(ping(frame.id));
        return undefined;
      default:
        return undefined;
    }
  }

  async #accept(id: number, isLast: boolean, block: Buffer): Promise<void> {
    // Also of a stream that is refused: the blocks are one zlib stream.
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
  /** What the other end said when it began the stream; names in lower case. */
  readonly headers: StreamHeaders;
  /** When the other end has taken it. */
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
    // Who does not wait for it has not failed.
    this.replied.catch(() => {});
    this.on("error", () => {});
  }

  /** Takes a stream that the other end began. */
  reply(): void {
    this.#line.reply();
  }

  wasAccepted(): void {
    this.#settle?.resolve();
  }

  /** @returns what has to be waited for until there is room for more */
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
    // What the other end said to its end may still be read.
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
