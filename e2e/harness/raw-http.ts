/**
 * HTTP/1.1 over raw TLS sockets, for requests that no proper client would send, and many of them:
 * bytes are written as they are, several requests may be on their way at once on one connection, and
 * the answers are taken apart just enough to judge them.
 */
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import type { Credentials } from "./https-client.js";

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
}

interface Awaited {
  readonly isHead: boolean;
  resolve(answer: RawAnswer | undefined): void;
}

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");

export class RawConnection {
  readonly #socket: TLSSocket;
  readonly #awaited: Awaited[] = [];
  #pending: Buffer<ArrayBufferLike> = Buffer.alloc(0);

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
      this.#take(false);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#take(true);
      for (const { resolve } of this.#awaited.splice(0)) resolve(undefined);
    });
  }

  static async open(port: number, credentials: Credentials): Promise<RawConnection> {
    const socket = connect({
      port,
      host: "127.0.0.1",
      ...credentials,
      ALPNProtocols: ["http/1.1"],
    });
    await once(socket, "secureConnect");
    socket.setNoDelay();
    return new RawConnection(socket);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && !this.#socket.readableEnded;
  }

  /** Sends one request; undefined = the connection closed without an answer to it. */
  send(bytes: Uint8Array | string, isHead = false): Promise<RawAnswer | undefined> {
    return new Promise((resolve) => {
      if (!this.isOpen) return resolve(undefined);
      this.#awaited.push({ isHead, resolve });
      this.#socket.write(bytes);
    });
  }

  /** Sends more bytes of the request that is under way. */
  write(bytes: Uint8Array | string): void {
    if (this.isOpen) this.#socket.write(bytes);
  }

  /** Says that nothing more comes; answers are still read. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(isClosed: boolean): void {
    for (;;) {
      const [awaited] = this.#awaited;
      if (awaited === undefined) return;
      const parsed = parseAnswer(this.#pending, awaited.isHead, isClosed);
      if (parsed === undefined) return;
      this.#pending = this.#pending.subarray(parsed.length);
      // "100 Continue" is no answer yet.
      if (parsed.answer.status < 200) continue;
      this.#awaited.shift();
      awaited.resolve(parsed.answer);
    }
  }
}

/** The first complete answer in `bytes` and how long it is; undefined when it is incomplete. */
function parseAnswer(
  bytes: Buffer,
  isHead: boolean,
  isClosed: boolean,
): { answer: RawAnswer; length: number } | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? Number.NaN);
  const start = headEnd + HEAD_END.length;
  const answer = (body: Buffer, length: number) => ({ answer: { status, head, body }, length });
  if (isHead || status < 200 || status === 204 || status === 304) {
    return answer(Buffer.alloc(0), start);
  }
  if (/^transfer-encoding: *chunked/im.test(head)) {
    const body = parseChunks(bytes, start);
    return body === undefined ? undefined : answer(body.content, body.end);
  }
  const declared = /^content-length: *(\d+)/im.exec(head);
  if (declared === null) return isClosed ? answer(bytes.subarray(start), bytes.length) : undefined;
  const end = start + Number(declared[1]);
  return bytes.length < end ? undefined : answer(bytes.subarray(start, end), end);
}

function parseChunks(bytes: Buffer, start: number): { content: Buffer; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let position = start; ; ) {
    const lineEnd = bytes.indexOf(LINE_END, position);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", position, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (bytes.length < end) return undefined;
    if (size === 0) return { content: Buffer.concat(parts), end };
    parts.push(bytes.subarray(lineEnd + 2, end - 2));
    position = end;
  }
}
