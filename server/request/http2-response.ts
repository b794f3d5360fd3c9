/**
 * Http2Response: an answer over HTTP/2, with those members of Node's ServerResponse that are used here and
 * by Koa.
 *
 * Node's compatibility class always announces trailers, which costs every answer a frame and two turns of
 * the event loop, and it checks each header once more before the HTTP/2 stream does.
 */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";

type Listener = (...args: never[]) => void;

export class Http2Response {
  readonly stream: ServerHttp2Stream;
  statusCode = 200;
  /** Values by name in lower case. */
  readonly #headers: OutgoingHttpHeaders = {};
  #isEnded = false;

  constructor(stream: ServerHttp2Stream) {
    this.stream = stream;
  }

  /** Only HTTP/1.1 answers have a connection to write to. */
  get socket(): undefined {
    return undefined;
  }

  get headersSent(): boolean {
    return this.stream.headersSent;
  }

  /** Not the stream's own, which Node ends at once for HEAD. */
  get writableEnded(): boolean {
    return this.#isEnded;
  }

  /** Node also finishes the stream of a client that gave up. */
  get writableFinished(): boolean {
    return this.stream.writableFinished && !this.stream.aborted;
  }

  get closed(): boolean {
    return this.stream.closed || this.stream.destroyed;
  }

  get destroyed(): boolean {
    return this.stream.destroyed;
  }

  getHeader(name: string): OutgoingHttpHeaders[string] {
    return this.#headers[name.toLowerCase()];
  }

  hasHeader(name: string): boolean {
    return Object.hasOwn(this.#headers, name.toLowerCase());
  }

  getHeaderNames(): string[] {
    return Object.keys(this.#headers);
  }

  setHeader(name: string, value: number | string | string[]): this {
    this.#headers[name.toLowerCase()] = value;
    return this;
  }

  removeHeader(name: string): void {
    delete this.#headers[name.toLowerCase()];
  }

  flushHeaders(): void {
    if (!this.closed && !this.headersSent) this.#respond(false);
  }

  write(chunk: Buffer | string): boolean {
    if (this.closed) return false;
    this.flushHeaders();
    return this.stream.write(chunk);
  }

  end(body?: Buffer | string, encoding: BufferEncoding = "utf8"): this {
    if (this.#isEnded) return this;
    this.#isEnded = true;
    if (this.closed) return this;
    const { stream } = this;
    const isEmpty = body === undefined || body.length === 0 || isHead(stream);
    if (!stream.headersSent) this.#respond(isEmpty);
    if (isEmpty) stream.end();
    else stream.end(body, encoding);
    return this;
  }

  /**
   * Sends a whole answer, before which no header was set.
   * @param headers name, value, name, value, ...; a name may be repeated
   */
  sendAll(status: number, headers: readonly string[], body: Buffer): void {
    this.statusCode = status;
    const sent = this.#headers;
    for (let i = 0; i < headers.length; i += 2) {
      // The stream makes names lower case itself.
      const [name, value] = [headers[i] as string, headers[i + 1] as string];
      const known = sent[name];
      sent[name] = known === undefined ? value : [known, value].flat().map(String);
    }
    this.end(body);
  }

  /** Ends the answer prematurely: without an error Node would tell the client that it was complete. */
  destroy(error = new Error("the answer was cut short")): this {
    this.stream.destroy(error);
    return this;
  }

  on(event: string, listener: Listener): this {
    this.stream.on(event, listener as (...args: unknown[]) => void);
    return this;
  }

  once(event: string, listener: Listener): this {
    this.stream.once(event, listener as (...args: unknown[]) => void);
    return this;
  }

  off(event: string, listener: Listener): this {
    this.stream.off(event, listener as (...args: unknown[]) => void);
    return this;
  }

  #respond(isWhole: boolean): void {
    this.#headers[":status"] = this.statusCode;
    this.stream.respond(this.#headers, { endStream: isWhole });
  }
}

/** Node's types do not have the member. */
function isHead(stream: ServerHttp2Stream): boolean {
  return (stream as { headRequest?: boolean }).headRequest === true;
}
