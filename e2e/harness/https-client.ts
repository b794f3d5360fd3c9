/**
 * A small HTTPS client for tests: JSON or raw bytes in, status, headers and body out, watches as
 * async iterables. It never retries and hides nothing.
 */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";

/** PEM texts; without certificate and key the client is anonymous. */
export interface Credentials {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  /** false = whoever answers is believed. */
  readonly rejectUnauthorized?: boolean;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes and text go as they are; anything else as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** An API object as a test sees it. */
export interface ApiObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name?: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    continue?: string;
  };
  [field: string]: unknown;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: ApiObject;
}

export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor(status: number, headers: IncomingHttpHeaders, bytes: Buffer) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString();
  }

  get object(): ApiObject {
    return JSON.parse(this.text) as ApiObject;
  }

  get items(): ApiObject[] {
    return (this.object as unknown as { items: ApiObject[] }).items;
  }

  /** @throws {AssertionError} with the body, when the status is another */
  expect(status: number, what = ""): this {
    assert.equal(this.status, status, `${what} ${this.text.slice(0, 1_000)}`);
    return this;
  }
}

export class HttpsClient {
  readonly url: string;
  readonly credentials: Credentials;
  readonly #agent: Agent;
  /** Of watches, which hold their sockets: requests would wait for one, and for those before them, for ever. */
  readonly #watching: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers of every request */
  constructor(
    url: string,
    credentials: Credentials,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.url = url;
    this.#headers = headers;
    this.credentials = credentials;
    this.#agent = new Agent({ ...credentials, keepAlive: true, maxSockets: 64 });
    this.#watching = new Agent({ ...credentials, keepAlive: true });
  }

  async request(path: string, options: RequestOptions = {}): Promise<Answer> {
    const message = await this.#send(path, options);
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    return new Answer(message.statusCode ?? 0, message.headers, Buffer.concat(chunks));
  }

  get(path: string, accept?: string): Promise<Answer> {
    return this.request(path, accept === undefined ? {} : { headers: { accept } });
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.request(path, { method: "POST", body });
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.request(path, { method: "PUT", body });
  }

  patch(path: string, body: unknown, type = "application/merge-patch+json"): Promise<Answer> {
    return this.request(path, { method: "PATCH", body, headers: { "content-type": type } });
  }

  delete(path: string, body?: unknown): Promise<Answer> {
    return this.request(path, { method: "DELETE", body });
  }

  /**
   * Opens a watch; the answer has begun when this returns. The iteration ends when the server ends
   * the stream in good order. @throws {Error} the connection broke, or `signal` was aborted
   */
  async watch(path: string, signal?: AbortSignal): Promise<AsyncGenerator<WatchEvent, void>> {
    const options = signal === undefined ? {} : { signal };
    const message = await this.#send(path, options, this.#watching);
    if (message.statusCode !== 200) {
      const chunks: Buffer[] = [];
      for await (const chunk of message) chunks.push(chunk as Buffer);
      throw new Error(`watch ${path}: ${message.statusCode} ${Buffer.concat(chunks)}`);
    }
    return readEvents(message);
  }

  close(): void {
    this.#agent.destroy();
    this.#watching.destroy();
  }

  #send(path: string, options: RequestOptions, agent = this.#agent): Promise<IncomingMessage> {
    const { body, signal } = options;
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    const payload = body === undefined ? undefined : isRaw ? body : JSON.stringify(body);
    const headers: Record<string, string> = {
      ...(payload === undefined || isRaw ? {} : { "content-type": "application/json" }),
      ...(payload === undefined ? {} : { "content-length": String(Buffer.byteLength(payload)) }),
      ...this.#headers,
      ...options.headers,
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(this.url + path, {
        method: options.method ?? "GET",
        headers,
        agent,
        ...(signal === undefined ? {} : { signal }),
      });
      outgoing.once("response", resolve);
      outgoing.once("error", reject);
      outgoing.end(payload);
    });
  }
}

async function* readEvents(message: IncomingMessage): AsyncGenerator<WatchEvent, void> {
  let rest = "";
  message.setEncoding("utf8");
  for await (const chunk of message) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as WatchEvent;
  }
}
