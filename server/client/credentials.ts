/**
 * Credentials of a client, sent with its requests. A source may return new ones over time: it rereads
 * files and reruns plug-ins (exec-credentials.ts).
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
  /** The current credentials; the same object until they change. @throws {Error} */
  current(signal: AbortSignal): Credentials | Promise<Credentials>;
  /** The server answered 401 to these; the next `current` may return others. */
  rejected(credentials: Credentials): void;
}

/** Minimum interval between reads of files. */
const FILE_REREAD_MS = 60_000;

/** The configured user, without `exec`. */
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
      // This request uses the cached credentials; a briefly missing file is harmless.
      this.#read().catch(() => {});
    }
    return this.#last;
  }

  /** A file may have just changed. */
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

/** Whether two credentials are equal. */
export function isSame(a: Credentials, b: Credentials): boolean {
  return a.authorization === b.authorization && isSameCertificate(a, b);
}

function isSameCertificate(a: Credentials, b: Credentials): boolean {
  return a.certificate?.cert === b.certificate?.cert && a.certificate?.key === b.certificate?.key;
}
