/**
 * An attack: a form of what one client without administrator's rights may send, as requests that go out
 * together. The attacker counts what comes back.
 */
import type { Answer, HttpsClient, RequestOptions } from "../harness/https-client.js";

export interface Attack {
  /** Unique, such as "json: a million empty containers". */
  readonly name: string;
  readonly run: (attacker: Attacker) => Promise<void>;
  /** Whether it stands for its group in the short form, which every `npm test` runs. */
  readonly isShort?: boolean;
  /** The server refuses all of its bodies unread, for what their headers say. */
  readonly isUnread?: boolean;
}

/** What the attacker got back. */
export interface Received {
  /** How many answers had which status; 0 = a connection that ended without one. */
  readonly statuses: Map<number, number>;
  /** Of the largest refusal. */
  refusalBytes: number;
}

/** Namespace in which the attacker has the role "edit". */
export const NAMESPACE = "red";

export class Attacker {
  readonly client: HttpsClient;
  readonly token: string;
  readonly received: Received = { statuses: new Map(), refusalBytes: 0 };
  readonly signal: AbortSignal;

  constructor(client: HttpsClient, token: string, signal: AbortSignal) {
    this.client = client;
    this.token = token;
    this.signal = signal;
  }

  /** One request as the attacker. A connection that breaks is an answer as well. */
  async send(path: string, options: RequestOptions = {}): Promise<Answer | undefined> {
    const headers = { authorization: `Bearer ${this.token}`, ...options.headers };
    try {
      const answer = await this.client.request(path, { signal: this.signal, ...options, headers });
      this.#note(answer.status);
      if (answer.status >= 400) {
        this.received.refusalBytes = Math.max(this.received.refusalBytes, answer.bytes.length);
      }
      return answer;
    } catch {
      this.#note(0);
      return undefined;
    }
  }

  /** A body of JSON, YAML or another type. */
  post(path: string, body: string | Uint8Array, type = "application/json") {
    return this.send(path, { method: "POST", body, headers: { "content-type": type } });
  }

  patch(path: string, type: string, body: string | Uint8Array) {
    const headers = { "content-type": `application/${type}` };
    return this.send(path, { method: "PATCH", body, headers });
  }

  /** So many requests, some of them at a time. */
  async many(count: number, atOnce: number, ask: (index: number) => Promise<unknown>) {
    let next = 0;
    const lanes = Array.from({ length: atOnce }, async () => {
      while (next < count && !this.signal.aborted) await ask(next++);
    });
    await Promise.all(lanes);
  }

  #note(status: number): void {
    const { statuses } = this.received;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
}
