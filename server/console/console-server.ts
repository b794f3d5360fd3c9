/**
 * ConsoleServer: serves the page on loopback, and passes on what the page asks. Whoever asks has to come from the
 * page itself (same-origin.ts) and, but for the page's own files, to have a key (sessions.ts). The page may run
 * its own script and style only, connect to this server only, and be framed by nobody.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpsClient } from "../client/https-client.js";
import type { PageFile } from "./page-files.js";
import { API_PREFIX, passOn } from "./pass-on.js";
import { answerRefusal } from "./refusal.js";
import { refusalOfOrigin } from "./same-origin.js";
import { Sessions } from "./sessions.js";

/** Lower case, as Node has them. */
export const KEY_HEADER = "x-keelson-key";
export const SESSION_PATH = "/session";

const LOOPBACK = "127.0.0.1";
/** Of browsers and tools of one person. */
const CONNECTIONS_MAX = 64;
const CODE_CHARS_MAX = 256;

const HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** Of what the API server answers: never shown as a page, whatever is in it. */
const PASSED_ON_HEADERS = { "Content-Security-Policy": "default-src 'none'; sandbox" };

export interface ConsoleServerOptions {
  readonly client: HttpsClient;
  /** By path. */
  readonly files: ReadonlyMap<string, PageFile>;
  /** Told when a page has been opened. */
  readonly opened: () => void;
}

export class ConsoleServer {
  readonly #options: ConsoleServerOptions;
  readonly #sessions = new Sessions();
  readonly #server: Server;

  constructor(options: ConsoleServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** @param port 0 = one that is free. @throws {Error} it is taken */
  async listen(port: number): Promise<void> {
    this.#server.listen(port, LOOPBACK);
    await once(this.#server, "listening");
  }

  /** @returns an address that can be opened once */
  offerAddress(): string {
    return `http://${LOOPBACK}:${this.#port}/#code=${this.#sessions.offer()}`;
  }

  /** Ends open answers as well. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const refusal = refusalOfOrigin(request, this.#port);
    if (refusal !== undefined) return answerRefusal(response, 403, refusal);
    const { url = "" } = request;
    const file = this.#options.files.get(url);
    if (file !== undefined) return this.#answerFile(request, response, file);
    if (url === SESSION_PATH) return await this.#answerSession(request, response);
    if (!url.startsWith(`${API_PREFIX}/`)) return answerRefusal(response, 404, "nothing is there");
    const key = request.headers[KEY_HEADER];
    if (!this.#sessions.admits(typeof key === "string" ? key : undefined)) {
      return answerRefusal(response, 401, "the key of this page is not known");
    }
    for (const [name, value] of Object.entries(PASSED_ON_HEADERS)) response.setHeader(name, value);
    await passOn(this.#options.client, request, response);
  }

  #answerFile({ method }: IncomingMessage, response: ServerResponse, file: PageFile): void {
    if (method !== "GET" && method !== "HEAD") {
      answerRefusal(response, 405, "a file is only read");
      return;
    }
    response.writeHead(200, { "Content-Type": file.type, "Content-Length": file.bytes.length });
    response.end(method === "GET" ? file.bytes : undefined);
  }

  /** A code for a key. */
  async #answerSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") return answerRefusal(response, 405, "a code is posted");
    let code = "";
    for await (const chunk of request) {
      code += String(chunk);
      if (code.length > CODE_CHARS_MAX) return answerRefusal(response, 413, "that is no code");
    }
    const key = this.#sessions.exchange(code);
    if (key === undefined) {
      return answerRefusal(response, 401, "this address was used before, or is unknown");
    }
    response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
    response.end(key);
    this.#options.opened();
  }
}
