/**
 * Peers: the records of the other replicas, asked with the rights of who asks: this replica shows itself as an
 * administrator of the authority that all share, and impersonates the user. Each answers for itself alone, within
 * a deadline, and who does not is named.
 */
import { oneLine } from "../../storage/base/one-line.js";
import { HttpsClient } from "../client/https-client.js";
import type { LazySignal } from "../request/lazy-signal.js";
import type { UserInfo } from "../request/user-info.js";
import { type RecordQuery, writeRecordQuery } from "./record-query.js";
import { RECORD_PATH, type ReplicaAsked } from "./record-types.js";
import type { ReplicaRecords } from "./records.js";

/** How a replica shows itself to others. Read for each connection. */
export interface PeerAccess {
  /** PEM, of a user who may impersonate everybody. */
  readonly identity: () => { readonly cert: string; readonly key: string };
  /** PEM: the authorities of the others' serving certificates. */
  readonly authorities: () => string;
  /** The name that all have in their certificates; undefined = each has its address there. */
  readonly serverName: () => string | undefined;
}

export interface Answers {
  readonly records: readonly ReplicaRecords[];
  readonly replicas: readonly ReplicaAsked[];
}

/** Of one replica, for all of its answer. */
const TIMEOUT_MS = 5_000;
/** Some 10,000 writes and 20,000 deliveries. */
const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
const USER_AGENT = "keelson-record";
const NOBODY: Answers = { records: [], replicas: [] };

export class Peers implements Disposable {
  readonly #access: PeerAccess;
  /** All replicas, this one (`isAsked`) among them; none = there is this one only. */
  readonly living: () => readonly ReplicaAsked[];
  readonly #clients = new Map<string, HttpsClient>();

  constructor(access: PeerAccess, living: () => readonly ReplicaAsked[]) {
    this.#access = access;
    this.living = living;
  }

  /** @returns what the others have recorded of this, and who was asked. Never rejects for a replica */
  async ask(query: RecordQuery, user: UserInfo, signal: LazySignal): Promise<Answers> {
    const living = this.living();
    this.#forget(new Set(living.map(({ address }) => address)));
    if (living.length === 0) return NOBODY;
    const path = `${RECORD_PATH}/records?${writeRecordQuery(query)}`;
    const request = { method: "GET", path, headers: impersonating(user) };
    const records: ReplicaRecords[] = [];
    const replicas = await Promise.all(
      living.map(async ({ address, isAsked }): Promise<ReplicaAsked> => {
        if (isAsked) return { address, isAsked, problem: "" };
        try {
          const answer = await this.#clientOf(address).request(request, signal.signal);
          if (answer.status !== 200) throw new Error(`it answered with status ${answer.status}`);
          records.push(JSON.parse(String(answer.body)) as ReplicaRecords);
          return { address, isAsked: true, problem: "" };
        } catch (error) {
          // The next question begins with a connection of its own, and with what is trusted by then.
          this.#close(address);
          return { address, isAsked: false, problem: oneLine(error) };
        }
      }),
    );
    return { records, replicas };
  }

  [Symbol.dispose](): void {
    this.#forget(new Set());
  }

  #clientOf(address: string): HttpsClient {
    const known = this.#clients.get(address);
    if (known !== undefined) return known;
    const { identity, authorities, serverName } = this.#access;
    let last: { readonly certificate: { readonly cert: string; readonly key: string } } | undefined;
    const client = new HttpsClient({
      endpoint: {
        server: `https://${address}`,
        ca: authorities(),
        isInsecure: false,
        serverName: serverName(),
      },
      credentials: {
        current() {
          const certificate = identity();
          if (last?.certificate.cert !== certificate.cert) last = { certificate };
          return last;
        },
        rejected() {},
      },
      timeoutMs: TIMEOUT_MS,
      answerLimits: { bytes: RESPONSE_BYTES_MAX },
      userAgent: USER_AGENT,
    });
    this.#clients.set(address, client);
    return client;
  }

  /** Closes connections to those that are gone. */
  #forget(living: ReadonlySet<string>): void {
    for (const address of this.#clients.keys()) if (!living.has(address)) this.#close(address);
  }

  #close(address: string): void {
    this.#clients.get(address)?.close();
    this.#clients.delete(address);
  }
}

/** Names in headers are case-insensitive and few characters, so keys are percent-encoded. */
function impersonating({ name, uid, groups, extra }: UserInfo) {
  const headers: Record<string, string | readonly string[]> = {
    "impersonate-user": name,
    "impersonate-group": groups,
  };
  if (uid !== "") headers["impersonate-uid"] = uid;
  for (const [key, values] of Object.entries(extra)) {
    headers[`impersonate-extra-${encodeURIComponent(key)}`] = values;
  }
  return headers;
}
