/**
 * Logs in through etcd3. A log-in is rare, so a complete client with its own retries is worth more than
 * speed (docs/dev/decisions/0003-etcd-client.md). It is loaded only when there is a user to log in, as it
 * takes 10 MiB of memory. Run by EtcdStore, whose calls carry the token.
 */
import { rootCertificates } from "node:tls";
import type { Etcd3 } from "etcd3";
import { StorageError } from "../kv/errors.js";
import type { TokenSource } from "./endpoint-pool.js";
import { fromEtcd3Error } from "./errors.js";
import { type EtcdTls, tlsFingerprint } from "./tls.js";

/** How long one attempt of etcd3 may take; it makes up to three, on different members. */
const ATTEMPT_TIMEOUT_MS = 3_000;

/** They may be other ones the next time they are read: each log-in reads them. */
export interface EtcdCredentials {
  readonly username: string;
  readonly password: string;
}

export interface Etcd3LogInOptions {
  readonly urls: readonly string[];
  readonly tls: EtcdTls | undefined;
  readonly credentials: EtcdCredentials | undefined;
}

export class Etcd3LogIn implements TokenSource {
  readonly #options: Etcd3LogInOptions;
  #client: Promise<Etcd3> | undefined;
  /** What the client was made with. */
  #clientMadeWith = "";
  #token: Promise<string> | undefined;

  constructor(options: Etcd3LogInOptions) {
    this.#options = options;
  }

  /** Callers share one log-in. */
  token(): Promise<string> | undefined {
    const { credentials } = this.#options;
    if (credentials === undefined) return undefined;
    if (this.#token === undefined) {
      const token = this.#logIn(credentials);
      this.#token = token;
      token.catch(() => {
        if (this.#token === token) this.#token = undefined;
      });
    }
    return this.#token;
  }

  invalidate(): void {
    this.#token = undefined;
  }

  close(): void {
    // The caller of the log-in already got the error of a client that could not be created.
    this.#client?.then(
      (client) => client.close(),
      () => {},
    );
  }

  async #logIn(credentials: EtcdCredentials): Promise<string> {
    const { username, password } = credentials;
    // The files with them may have been replaced.
    const madeWith = `${password}\n${tlsFingerprint(this.#options.tls)}`;
    if (this.#client !== undefined && this.#clientMadeWith !== madeWith) {
      this.close();
      this.#client = undefined;
    }
    this.#clientMadeWith = madeWith;
    this.#client ??= openClient(this.#options);
    const client = await this.#client;
    try {
      const { token } = await client.auth.authenticate({ name: username, password });
      return token;
    } catch (error) {
      const failure = fromEtcd3Error(error);
      if (failure.isTransient) throw failure;
      // The message reaches logs, so it repeats neither name nor password.
      throw new StorageError("Refused", "etcd refused the log-in", { cause: failure });
    }
  }
}

async function openClient({ urls, tls, credentials }: Etcd3LogInOptions): Promise<Etcd3> {
  // As a whole: the bundle does not know the names of a package that is CommonJS.
  const {
    default: { Etcd3 },
  } = await import("etcd3");
  return new Etcd3({
    hosts: [...urls],
    defaultCallOptions: () => ({ deadline: Date.now() + ATTEMPT_TIMEOUT_MS }),
    ...(tls === undefined ? {} : { credentials: toEtcd3Credentials(tls) }),
    ...(credentials === undefined ? {} : { auth: { ...credentials } }),
  });
}

function toEtcd3Credentials(tls: EtcdTls) {
  const bytes = (content: string | Buffer) => Buffer.from(content);
  return {
    // etcd3 needs explicit roots; by default they are those that Node trusts, as for our own calls.
    rootCertificate: bytes(tls.ca ?? rootCertificates.join("\n")),
    ...(tls.key === undefined ? {} : { privateKey: bytes(tls.key) }),
    ...(tls.cert === undefined ? {} : { certChain: bytes(tls.cert) }),
  };
}
