/**
 * Http2Request: a request over HTTP/2, with those members of Node's IncomingMessage that are used here.
 *
 * Node's compatibility class is a stream of its own in front of the HTTP/2 stream, with eight listeners
 * between the two. Here readers of the body take it from the HTTP/2 stream.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { PassThrough, type Readable } from "node:stream";
import type { TLSSocket } from "node:tls";

export class Http2Request {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  /** The connection, to be looked at only: it belongs to the session. */
  readonly socket: TLSSocket;
  /** Told how many bytes of the body a reader has taken, each once. */
  readonly bodyTaken: (bytes: number) => void;
  method: string;
  url: string;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: string[],
    socket: TLSSocket,
    bodyTaken: (bytes: number) => void,
  ) {
    this.stream = stream;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.socket = socket;
    this.bodyTaken = bodyTaken;
    this.method = headers[":method"] ?? "";
    this.url = headers[":path"] ?? "";
  }

  get httpVersion(): string {
    return "2.0";
  }

  get httpVersionMajor(): number {
    return 2;
  }

  /** The body as a stream of its own, whose end by its reader leaves the answer alone. */
  toReadable(): Readable {
    this.stream.on("data", (chunk: Buffer) => this.bodyTaken(chunk.length));
    return this.stream.pipe(new PassThrough());
  }
}
