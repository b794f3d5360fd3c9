/**
 * Credentials of a client: what it shows of itself with a request. A source hands them out and may
 * change its mind over time: files are read again, plug-ins are run again (exec-credentials.ts).
 */
import { readFile } from "node:fs/promises";
import type { Clock } from "../../storage/base/clock.js";
import type { ClientUser, TextSource } from "./client-config.js";

export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization?: string;
  /** PEM of certificate (with intermediates) and key. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

export interface CredentialSource {
  /** What to show now. The same object as before as long as nothing changed. @throws {Error} */
  current(signal: AbortSignal): Credentials | Promise<Credentials>;
  /** The server answered 401 to these. The next `current` may hand out others. */
  rejected(credentials: Credentials): void;
}

/** Files are read again at most this often. */
const FILE_REREAD_MS = 60_000;

/** What a user's configuration says, except `exec`. */
export class ConfiguredCredentials implements CredentialSource {
  readonly #user: ClientUser;
  readonly #clock: Clock;
  readonly #hasFiles: boolean;
  #last: Credentials | undefined;
  #readAtMs = 0;
  #reading: Promise<Credentials> | undefined;

  constructor(user: ClientUser, clock: Clock) {
    this.#user = user;
    this.#clock = clock;
    const sources = [user.token, user.certificate?.cert, user.certificate?.key];
    this.#hasFiles = sources.some((source) => source !== undefined && "file" in source);
  }

  current(): Credentials | Promise<Credentials> {
    if (this.#last === undefined) return this.#read();
    if (this.#hasFiles && this.#clock.monotonic() - this.#readAtMs >= FILE_REREAD_MS) {
      // What is known serves this request; a file that is gone for a moment does not matter.
      this.#read().catch(() => {});
    }
    return this.#last;
  }

  /** A file may have changed a moment ago. */
  rejected(): void {
    if (this.#hasFiles) this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  #read(): Promise<Credentials> {
    this.#reading ??= (async () => {
      try {
        this.#readAtMs = this.#clock.monotonic();
        const next = await readCredentials(this.#user);
        if (this.#last === undefined || !isSame(this.#last, next)) this.#last = next;
        return this.#last;
      } finally {
        this.#reading = undefined;
      }
    })();
    return this.#reading;
  }
}

async function readCredentials({ token, basic, certificate }: ClientUser): Promise<Credentials> {
  const authorization = await authorizationOf(token, basic);
  if (certificate === undefined) return authorization;
  const [cert, key] = await Promise.all([textOf(certificate.cert), textOf(certificate.key)]);
  return { ...authorization, certificate: { cert, key } };
}

async function authorizationOf(token: ClientUser["token"], basic: ClientUser["basic"]) {
  if (token !== undefined) return { authorization: `Bearer ${(await textOf(token)).trim()}` };
  if (basic === undefined) return {};
  const pair = Buffer.from(`${basic.username}:${basic.password}`, "utf8").toString("base64");
  return { authorization: `Basic ${pair}` };
}

async function textOf(source: TextSource): Promise<string> {
  return "text" in source ? source.text : await readFile(source.file, "utf8");
}

/** Whether two credentials show the same. */
export function isSame(a: Credentials, b: Credentials): boolean {
  return a.authorization === b.authorization && isSameCertificate(a, b);
}

function isSameCertificate(a: Credentials, b: Credentials): boolean {
  return a.certificate?.cert === b.certificate?.cert && a.certificate?.key === b.certificate?.key;
}
