/**
 * The rare calls, through etcd3: log-in, leases, compaction. They are seldom enough that a complete
 * client with its own retries is worth more than speed (docs/decisions/0003-etcd-client.md).
 */
import { rootCertificates } from "node:tls";
import { Etcd3 } from "etcd3";
import { StorageError } from "../kv/errors.js";
import type { LeaseId, Revision } from "../kv/store.js";
import type { TokenSource } from "./endpoint-pool.js";
import { fromEtcd3Error, GRPC_STATUS, toStorageError } from "./errors.js";
import type { EtcdTls } from "./tls.js";

/** How long one attempt of etcd3 may take; it makes up to three, on different members. */
const ATTEMPT_TIMEOUT_MS = 3_000;

export interface EtcdCredentials {
  readonly username: string;
  readonly password: string;
}

export interface Etcd3AdminOptions {
  readonly urls: readonly string[];
  readonly tls: EtcdTls | undefined;
  readonly credentials: EtcdCredentials | undefined;
}

export class Etcd3Admin implements TokenSource {
  readonly #client: Etcd3;
  readonly #credentials: EtcdCredentials | undefined;
  #token: Promise<string> | undefined;

  constructor(options: Etcd3AdminOptions) {
    const { tls, credentials } = options;
    this.#credentials = credentials;
    this.#client = new Etcd3({
      hosts: [...options.urls],
      defaultCallOptions: () => ({ deadline: Date.now() + ATTEMPT_TIMEOUT_MS }),
      ...(tls === undefined ? {} : { credentials: toEtcd3Credentials(tls) }),
      ...(credentials === undefined ? {} : { auth: { ...credentials } }),
    });
  }

  /** The token that our own calls carry; callers share one log-in. */
  token(): Promise<string> | undefined {
    if (this.#credentials === undefined) return undefined;
    if (this.#token === undefined) {
      const token = this.#logIn(this.#credentials);
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

  /** @throws {StorageError} */
  async grantLease(ttlSeconds: number): Promise<LeaseId> {
    try {
      const { ID } = await this.#client.leaseClient.leaseGrant({ TTL: ttlSeconds, ID: 0 });
      return String(ID) as LeaseId;
    } catch (error) {
      throw toStorageError(fromEtcd3Error(error), false);
    }
  }

  /** @throws {StorageError} */
  async compact(revision: Revision): Promise<void> {
    try {
      await this.#client.kv.compact({ revision: String(revision), physical: false });
    } catch (error) {
      const reason = fromEtcd3Error(error);
      if (reason.status === GRPC_STATUS.permissionDenied) {
        const message = "etcd lets administrators alone compact: it has to compact by itself";
        throw new StorageError("Refused", message, { cause: reason });
      }
      const failure = toStorageError(reason, false);
      // It was compacted up to here, or further, before: by a replica, or by a lost first attempt.
      if (failure.code !== "Compacted") throw failure;
    }
  }

  close(): void {
    this.#client.close();
  }

  async #logIn(credentials: EtcdCredentials): Promise<string> {
    try {
      const { username, password } = credentials;
      const { token } = await this.#client.auth.authenticate({ name: username, password });
      return token;
    } catch (error) {
      const failure = fromEtcd3Error(error);
      if (failure.isTransient) throw failure;
      // Neither name nor password is repeated here: the message reaches logs.
      throw new StorageError("Refused", "etcd refused the log-in", { cause: failure });
    }
  }
}

function toEtcd3Credentials(tls: EtcdTls) {
  const bytes = (content: string | Buffer) => Buffer.from(content);
  return {
    // etcd3 wants to be told; absent means the authorities that Node trusts, as for our own calls.
    rootCertificate: bytes(tls.ca ?? rootCertificates.join("\n")),
    ...(tls.key === undefined ? {} : { privateKey: bytes(tls.key) }),
    ...(tls.cert === undefined ? {} : { certChain: bytes(tls.cert) }),
  };
}
