/**
 * Sessions: who may use the console. An address carries a code, which is taken once for a key; the page sends the key
 * with every request. Only digests are kept, so looking one up tells nothing by its time.
 *
 *   terminal: http://127.0.0.1:4711/#code=C      C is not sent with the request for the page: it is a fragment
 *   page:     POST /session {C} -> K             C is spent; the page takes it out of the address and its history
 *   page:     GET /k8s/api/... X-Keelson-Key: K  K is in the page's memory alone: no cookie, no storage
 */
import { createHash, randomBytes } from "node:crypto";

/** 128 bits and more are not guessed. */
const SECRET_BYTES = 24;
/** Pages at a time; the oldest loses its key. */
const KEYS_MAX = 16;
/** Addresses that nobody has opened yet; the oldest is forgotten. */
const CODES_MAX = 16;

export class Sessions {
  readonly #codes = new Set<string>();
  readonly #keys = new Set<string>();

  /** @returns a code for one page */
  offer(): string {
    return issue(this.#codes, CODES_MAX);
  }

  /** @returns the page's key; undefined = the code is unknown, or was used */
  exchange(code: string): string | undefined {
    return this.#codes.delete(digest(code)) ? issue(this.#keys, KEYS_MAX) : undefined;
  }

  admits(key: string | undefined): boolean {
    return key !== undefined && this.#keys.has(digest(key));
  }
}

function issue(into: Set<string>, most: number): string {
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  const [oldest] = into;
  if (into.size >= most && oldest !== undefined) into.delete(oldest);
  into.add(digest(secret));
  return secret;
}

function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("base64");
}
