/** How the administrator asks a fresh API: JSON in, JSON out; over a connection, or from within its process. */
import type { OutgoingHttpHeaders } from "node:http";
import type { JsonObject } from "../api/meta.js";
import { HttpsClient } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
import { requestHere } from "../http/request-here.js";
import type { RequestListener } from "../http/request-listener.js";
import { parseJson } from "../schema/parse-json.js";
import type { AdminAccess } from "./access.js";

export interface Answer {
  readonly status: number;
  readonly value: JsonObject;
  /** What the server warned of. */
  readonly warnings: readonly string[];
}

export interface AskOptions {
  readonly body?: JsonObject;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export interface Asker {
  /** @throws {Error} there is no answer */
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>;
}

const REQUEST_MS = 30_000;
/** Discovery, definitions and lists are larger than reviews. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;
const TEXT_CHARS_MAX = 600;

export class AdminClient implements Asker {
  readonly #client: HttpsClient;

  constructor({ url, ca, cert, key }: AdminAccess, userAgent: string) {
    const credentials = { certificate: { cert, key } };
    this.#client = new HttpsClient({
      endpoint: { server: url, isInsecure: false, ca, serverName: undefined },
      credentials: { current: () => credentials, rejected: () => {} },
      timeoutMs: REQUEST_MS,
      answerLimits: { bytes: RESPONSE_BYTES_MAX },
      userAgent,
    });
  }

  /** @throws {TransportError} there is no answer */
  async ask(method: string, path: string, options: AskOptions = {}): Promise<Answer> {
    const { body, signal = NEVER } = options;
    const answer = await this.#client.request(
      {
        method,
        path,
        headers: headersOf(options),
        ...(body !== undefined && { body: stringifyJson(body) }),
      },
      signal,
    );
    return toAnswer(answer);
  }

  close(): void {
    this.#client.close();
  }
}

/** Of an API in this process. Its answers wait for nobody outside, so a signal is looked at before each request only. */
export class AdminHere implements Asker {
  readonly #handle: RequestListener;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param token of an administrator */
  constructor(handle: RequestListener, token: string, userAgent: string) {
    this.#handle = handle;
    this.#headers = { authorization: `Bearer ${token}`, "user-agent": userAgent };
  }

  async ask(method: string, path: string, options: AskOptions = {}): Promise<Answer> {
    const { body, signal = NEVER } = options;
    signal.throwIfAborted();
    const answer = await requestHere(this.#handle, {
      method,
      path,
      headers: { ...this.#headers, ...headersOf(options) },
      ...(body !== undefined && { body: Buffer.from(stringifyJson(body)) }),
    });
    return toAnswer(answer);
  }
}

const NEVER = new AbortController().signal;

function headersOf({ body, contentType = "application/json" }: AskOptions): Record<string, string> {
  const sent = body === undefined ? {} : { "content-type": contentType };
  return { accept: "application/json", ...sent };
}

interface RawAnswer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

function toAnswer({ status, headers, body }: RawAnswer): Answer {
  const { warning = [] } = headers;
  const warnings = (Array.isArray(warning) ? warning : [String(warning)]).map(toText);
  let value: JsonObject | undefined;
  return {
    status,
    // Of most answers only the status is looked at.
    get value() {
      value ??= toObject(body);
      return value;
    },
    warnings,
  };
}

function toObject(body: Buffer): JsonObject {
  try {
    return parseJson(body) as JsonObject;
  } catch {
    return { message: body.toString("utf8").slice(0, TEXT_CHARS_MAX) };
  }
}

/** Of `299 - "text"` (RFC 9111 section 5.5), whose bytes are UTF-8. */
function toText(warning: string): string {
  const [, quoted = warning] = /^\d{3} \S+ "(.*)"/s.exec(warning) ?? [];
  return Buffer.from(quoted.replace(/\\(.)/gs, "$1"), "latin1").toString("utf8");
}
