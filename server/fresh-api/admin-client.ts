/** The administrator's connection to a fresh API: JSON in, JSON out. */
import type { JsonObject } from "../api/meta.js";
import { HttpsClient } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
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

const REQUEST_MS = 30_000;
/** Discovery, definitions and lists are larger than reviews. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;
const TEXT_CHARS_MAX = 600;

export class AdminClient {
  readonly #client: HttpsClient;

  constructor({ url, ca, cert, key }: AdminAccess, userAgent: string) {
    const credentials = { certificate: { cert, key } };
    this.#client = new HttpsClient({
      endpoint: { server: url, isInsecure: false, ca, serverName: undefined },
      credentials: { current: () => credentials, rejected: () => {} },
      timeoutMs: REQUEST_MS,
      responseBytesMax: RESPONSE_BYTES_MAX,
      userAgent,
    });
  }

  /** @throws {TransportError} there is no answer */
  async ask(method: string, path: string, options: AskOptions = {}): Promise<Answer> {
    const { body, contentType = "application/json", signal = NEVER } = options;
    const answer = await this.#client.request(
      {
        method,
        path,
        headers: {
          accept: "application/json",
          ...(body !== undefined && { "content-type": contentType }),
        },
        ...(body !== undefined && { body: stringifyJson(body) }),
      },
      signal,
    );
    const { warning = [] } = answer.headers;
    const warnings = (Array.isArray(warning) ? warning : [warning]).map(toText);
    return { status: answer.status, value: toObject(answer.body), warnings };
  }

  close(): void {
    this.#client.close();
  }
}

const NEVER = new AbortController().signal;

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
