/**
 * requestHere: a request of this process to itself, through the same chain as all others, without a connection. Its
 * stream has those members of an HTTP/2 stream that are used.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { Http2Request } from "../request/http2-request.js";
import { Http2Response } from "../request/http2-response.js";
import type { RequestListener } from "./request-listener.js";

export interface OwnRequest {
  readonly method: string;
  readonly path: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface OwnAnswer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** @throws {Error} the answer was cut short */
export function requestHere(handle: RequestListener, request: OwnRequest): Promise<OwnAnswer> {
  const { method, path, headers, body } = request;
  return new Promise((resolve, reject) => {
    const stream = new OwnStream(resolve, reject);
    const sent = {
      ...headers,
      ...(body !== undefined && { "content-length": String(body.length) }),
      ":method": method,
      ":path": path,
    };
    if (body !== undefined) stream.push(body);
    stream.push(null);
    const asHttp2 = stream as unknown as ServerHttp2Stream;
    // Nobody is at its other end.
    const socket = undefined as unknown as TLSSocket;
    handle(
      new Http2Request(
        asHttp2,
        sent,
        Object.entries(sent).flat(),
        socket,
        () => {},
      ) as unknown as IncomingMessage,
      new Http2Response(asHttp2) as unknown as ServerResponse,
    );
  });
}

class OwnStream extends Duplex {
  readonly aborted = false;
  headersSent = false;
  readonly #resolve: (answer: OwnAnswer) => void;
  readonly #reject: (error: Error) => void;
  #headers: OutgoingHttpHeaders = {};
  readonly #pieces: Buffer[] = [];

  constructor(resolve: (answer: OwnAnswer) => void, reject: (error: Error) => void) {
    super();
    this.#resolve = resolve;
    this.#reject = reject;
  }

  respond(headers: OutgoingHttpHeaders): void {
    this.#headers = headers;
    this.headersSent = true;
  }

  override _read(): void {}

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(piece);
    done();
  }

  override _final(done: () => void): void {
    const { ":status": status = 0, ...headers } = this.#headers;
    this.#resolve({ status: Number(status), headers, body: Buffer.concat(this.#pieces) });
    done();
    // The rest of the body is of no use.
    process.nextTick(() => this.destroy());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#reject(error ?? new Error("the answer was cut short"));
    done(null);
  }
}
