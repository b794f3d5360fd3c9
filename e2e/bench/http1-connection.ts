/** BenchConnection over HTTP/1.1: one request at a time, as its clients do. */
import type { TLSSocket } from "node:tls";
import {
  type BenchAnswer,
  type BenchConnection,
  type BenchRequest,
  Incoming,
  openTls,
  type Target,
} from "./connection.js";

const HEAD_END = Buffer.from("\r\n\r\n");
const NOTHING = Buffer.alloc(0);

/** Where the parser is: in a head, in so many bytes of a body, or at the line before a chunk. */
type Place = "head" | "body" | "chunk" | "chunk-line" | "chunk-end";

export class Http1Connection implements BenchConnection {
  readonly lanes = 1;
  readonly #socket: TLSSocket;
  #current: Incoming | undefined;
  #pending: Buffer = NOTHING;
  #place: Place = "head";
  #left = 0;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (piece: Buffer) => this.#take(piece));
    socket.on("error", (error) => this.#current?.fail(error));
    socket.on("close", () => this.#current?.fail(new Error("the connection was closed")));
  }

  static async open(target: Target): Promise<Http1Connection> {
    return new Http1Connection(await openTls(target, "http/1.1"));
  }

  request({ method, path, headers = {}, body, onData }: BenchRequest): Promise<BenchAnswer> {
    let head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n`;
    for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
    if (body !== undefined) head += `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    this.#current = new Incoming(onData);
    this.#socket.write(`${head}\r\n${body ?? ""}`);
    return this.#current.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(piece: Buffer): void {
    let rest = this.#pending.length === 0 ? piece : Buffer.concat([this.#pending, piece]);
    this.#pending = NOTHING;
    while (rest.length > 0) {
      const used = this.#step(rest);
      if (used === 0) {
        this.#pending = rest;
        return;
      }
      rest = rest.subarray(used);
    }
  }

  /** How many bytes it could use; 0 = more are needed. */
  #step(bytes: Buffer): number {
    const current = this.#current;
    if (current === undefined) throw new Error("bytes behind the end of an answer");
    switch (this.#place) {
      case "head":
        return this.#head(bytes, current);
      case "body":
      case "chunk": {
        const some = bytes.subarray(0, this.#left);
        this.#left -= some.length;
        current.take(some);
        if (this.#left === 0 && this.#place === "body") this.#end(current);
        else if (this.#left === 0) this.#place = "chunk-end";
        return some.length;
      }
      case "chunk-end":
        if (bytes.length < 2) return 0;
        this.#place = "chunk-line";
        return 2;
      case "chunk-line": {
        const end = bytes.indexOf("\r\n");
        if (end < 0) return 0;
        this.#left = Number.parseInt(bytes.toString("latin1", 0, end), 16);
        if (this.#left > 0) {
          this.#place = "chunk";
          return end + 2;
        }
        // Behind the last chunk come no trailers, but an empty line.
        if (bytes.length < end + 4) return 0;
        this.#end(current);
        return end + 4;
      }
    }
  }

  #head(bytes: Buffer, current: Incoming): number {
    const end = bytes.indexOf(HEAD_END);
    if (end < 0) return 0;
    const head = bytes.toString("latin1", 0, end);
    current.status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    this.#place = length === undefined ? "chunk-line" : "body";
    this.#left = Number(length ?? 0);
    if (length === "0") this.#end(current);
    return end + HEAD_END.length;
  }

  #end(current: Incoming): void {
    this.#place = "head";
    this.#current = undefined;
    current.end();
  }
}
