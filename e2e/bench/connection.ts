/**
 * BenchConnection: one connection of the load generator to a server, over HTTP/1.1 or HTTP/2. Both
 * parse what comes by hand and look at nothing but status, length and end, so that the generator takes
 * little of the machine that it shares with the server.
 */
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import type { Credentials } from "../harness/https-client.js";

/** Where to connect, and as who. */
export interface Target {
  readonly port: number;
  readonly credentials: Partial<Credentials>;
}

export interface BenchRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Takes the body as it comes, which is not kept then. */
  readonly onData?: (piece: Buffer) => void;
}

export interface BenchAnswer {
  readonly status: number;
  /** Bytes of the body as they came, so compressed where they were. */
  readonly bytes: number;
  readonly body: Buffer;
}

export interface BenchConnection {
  /** How many requests may be under way at the same time. */
  readonly lanes: number;
  /** Resolves at the end of the answer. */
  request(request: BenchRequest): Promise<BenchAnswer>;
  close(): void;
}

export async function openTls(
  { port, credentials }: Target,
  protocol: "http/1.1" | "h2",
): Promise<TLSSocket> {
  const socket = connect({
    host: "127.0.0.1",
    port,
    servername: "localhost",
    ALPNProtocols: [protocol],
    rejectUnauthorized: credentials.ca !== undefined,
    ...credentials,
  });
  await once(socket, "secureConnect");
  socket.setNoDelay(true);
  return socket;
}

/** The answer that is coming in, for one request. */
export class Incoming {
  readonly promise: Promise<BenchAnswer>;
  status = 0;
  #bytes = 0;
  readonly #pieces: Buffer[] = [];
  readonly #onData: BenchRequest["onData"];
  #resolve: (answer: BenchAnswer) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(onData: BenchRequest["onData"]) {
    this.#onData = onData;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  take(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#onData !== undefined) this.#onData(piece);
    else this.#pieces.push(piece);
  }

  end(): void {
    const [first] = this.#pieces;
    const body =
      this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces);
    this.#resolve({ status: this.status, bytes: this.#bytes, body });
  }

  fail(error: Error): void {
    this.#reject(error);
  }
}
