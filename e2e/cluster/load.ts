/**
 * Load on a topology, and its ledger. Writers raise a counter in objects of their own; readers ask for
 * any of them; watchers are reflectors as strict as client-go's. What was acknowledged is remembered,
 * so that a lost write, a stale read, a gap in a watch are seen as they happen.
 */
import { randomBytes } from "node:crypto";
import type { Answer, HttpsClient } from "../harness/https-client.js";
import { Reflector } from "../reads/reflector.js";
import { Series } from "./series.js";

export interface LoadOptions {
  newClient(): HttpsClient;
  readonly writers: number;
  readonly readers: number;
  readonly watchers: number;
  /** Between two operations of a client. */
  readonly thinkMs: number;
}

/** What was seen that must never be: each a sentence. */
export type Violations = string[];

export interface LoadResult {
  readonly operations: number;
  readonly failures: number;
  /** Those of them that were told when to come again, by 429 or 503 with Retry-After: nothing has happened. */
  readonly deferred: number;
  /** Reads that were sent again as their connection had just been closed: every client does that. */
  readonly retries: number;
  /** What failed, with how often. */
  readonly reasons: ReadonlyMap<string, number>;
  readonly relists: number;
  readonly watches: number;
  readonly events: number;
  readonly violations: Violations;
}

const REQUEST_DEADLINE_MS = 15_000;
const RETRY_MS = 50;

interface Counter {
  /** The largest that was acknowledged. */
  acknowledged: number;
  /**
   * Values whose writes had no answer. A server that stood still commits them when it goes on, behind
   * later ones: they name no version, so nothing forbids it.
   */
  readonly unanswered: Set<number>;
  /** The largest that was sent: it may have been stored, too. */
  sent: number;
}

export class Load {
  readonly series = new Series();
  /** Of this load alone: one installation may carry several, one after the other. */
  readonly #namespace = `load-${randomBytes(4).toString("hex")}`;
  readonly #path = `/api/v1/namespaces/${this.#namespace}/configmaps`;
  readonly #options: LoadOptions;
  readonly #counters = new Map<string, Counter>();
  readonly #clients: HttpsClient[] = [];
  readonly #reflectors: Reflector[] = [];
  readonly #violations: Violations = [];
  readonly #reasons = new Map<string, number>();
  readonly #ending = new AbortController();
  #working: Promise<unknown> = Promise.resolve();
  #probing: Promise<void> = Promise.resolve();
  #operations = 0;
  #failures = 0;
  #deferred = 0;
  #retries = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  get violations(): Violations {
    return this.#violations;
  }

  /** Resolves when all watchers have their first list and everybody is at work. */
  async start(): Promise<void> {
    const { writers, readers, watchers } = this.#options;
    const first = this.#newClient();
    const namespace = await first.post("/api/v1/namespaces", {
      metadata: { name: this.#namespace },
    });
    if (namespace.status !== 201 && namespace.status !== 409) throw new Error(namespace.text);
    for (let index = 0; index < writers; index++) {
      const name = `counter-${index}`;
      this.#counters.set(name, { acknowledged: 0, sent: 0, unanswered: new Set() });
      (await first.post(this.#path, toBody(name, 0))).expect(201);
    }
    for (let index = 0; index < watchers; index++) {
      const client = this.#newClient();
      const isStreaming = index % 2 === 1;
      this.#reflectors.push(new Reflector({ path: this.#path, next: () => client, isStreaming }));
    }
    await Promise.all(this.#reflectors.map((reflector) => reflector.start()));
    this.#probing = this.#probe(this.#newClient());
    const work = [
      ...[...this.#counters.keys()].map((name) => this.#write(this.#newClient(), name)),
      ...Array.from({ length: readers }, () => this.#read(this.#newClient())),
    ];
    this.#working = Promise.all(work);
  }

  /** Ends the work, lets watchers catch up, and compares what everybody has with what was acknowledged. */
  async stop(): Promise<LoadResult> {
    this.#ending.abort();
    await this.#working;
    await this.#probing;
    const client = this.#newClient();
    const all = await eventuallyGet(client, this.#path).catch((error: unknown) => {
      this.#violations.push(`what is stored cannot be read: ${String(error)}`);
      return [];
    });
    const items = all.filter(({ metadata }) => metadata.name?.startsWith("counter-"));
    for (const item of items) {
      const name = item.metadata.name ?? "";
      const counter = this.#counters.get(name);
      const value = countOf(item);
      if (counter === undefined) continue;
      if (value < counter.acknowledged && !counter.unanswered.has(value)) {
        this.#violations.push(
          `${name}: ${counter.acknowledged} was acknowledged, ${value} is stored`,
        );
      }
    }
    const wanted = Object.fromEntries(
      items.map(({ metadata }) => [metadata.name, Number(metadata.resourceVersion)]),
    );
    for (const [index, reflector] of this.#reflectors.entries()) {
      await this.#settle(index, reflector, wanted);
    }
    for (const one of this.#clients) one.close();
    const sum = (of: (reflector: Reflector) => number) =>
      this.#reflectors.reduce((total, reflector) => total + of(reflector), 0);
    return {
      operations: this.#operations,
      failures: this.#failures,
      deferred: this.#deferred,
      retries: this.#retries,
      reasons: this.#reasons,
      relists: sum(({ relists }) => relists),
      watches: sum(({ watches }) => watches),
      events: sum(({ told }) => told.length),
      violations: this.#violations,
    };
  }

  async #settle(
    index: number,
    reflector: Reflector,
    wanted: Readonly<Record<string, number>>,
  ): Promise<void> {
    const isSame = () =>
      Object.entries(wanted).every(([name, version]) => reflector.store.get(name) === version);
    for (let waited = 0; waited < REQUEST_DEADLINE_MS && !isSame(); waited += RETRY_MS) {
      await pause(RETRY_MS);
    }
    if (!isSame()) this.#violations.push(`watcher ${index} does not hold what is stored`);
    await reflector.stop().catch((error: unknown) => {
      this.#violations.push(`watcher ${index}: ${String(error)}`);
    });
  }

  async #write(client: HttpsClient, name: string): Promise<void> {
    const counter = this.#counters.get(name) as Counter;
    while (!this.#ending.signal.aborted) {
      await pause(this.#options.thinkMs * (0.5 + Math.random()));
      const value = counter.sent + 1;
      counter.sent = value;
      const answer = await this.#time("write", () =>
        client.request(`${this.#path}/${name}`, {
          method: "PUT",
          body: toBody(name, value),
          signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
        }),
      );
      if (answer?.status === 200) counter.acknowledged = Math.max(counter.acknowledged, value);
      else counter.unanswered.add(value);
    }
  }

  async #read(client: HttpsClient): Promise<void> {
    const names = [...this.#counters.keys()];
    while (!this.#ending.signal.aborted) {
      await pause(this.#options.thinkMs * (0.5 + Math.random()));
      const name = names[Math.floor(Math.random() * names.length)] as string;
      const counter = this.#counters.get(name) as Counter;
      const before = counter.acknowledged;
      const answer = await this.#time("read", () =>
        client.request(`${this.#path}/${name}`, {
          signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
        }),
      );
      if (answer?.status !== 200) continue;
      const value = countOf(answer.object);
      if (value < before && !counter.unanswered.has(value)) {
        this.#violations.push(`stale read: ${name} is ${value}, ${before} was acknowledged before`);
      }
    }
  }

  /** How late an event comes, from the moment at which its write was sent. */
  async #probe(client: HttpsClient): Promise<void> {
    while (!this.#ending.signal.aborted) {
      try {
        const events = await client.watch(`${this.#path}?watch=1`, this.#ending.signal);
        const openedAtMs = Date.now();
        for await (const { type, object } of events) {
          const at = Number((object as { data?: { at?: string } }).data?.at);
          if (type === "MODIFIED" && at >= openedAtMs) this.series.staleness(Date.now() - at);
        }
      } catch {
        if (!this.#ending.signal.aborted) await pause(RETRY_MS);
      }
    }
  }

  /**
   * A connection that has been idle may be closed in the moment in which it is used again (RFC 9112, 9.3.1):
   * clients send what changes nothing once more, on another one, and we do as they do.
   */
  async #sendRead<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== "ECONNRESET" && code !== "EPIPE") throw error;
      this.#retries++;
      return await call();
    }
  }

  async #time<T extends Pick<Answer, "status" | "headers">>(
    kind: "read" | "write",
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    const begunAtMs = performance.now();
    this.#operations++;
    try {
      const answer = await (kind === "read" ? this.#sendRead(call) : call());
      const isGood = answer.status === 200;
      this.series.operation(kind, performance.now() - begunAtMs, isGood);
      if (!isGood) this.#fail(`${kind}: status ${answer.status}`);
      if (isDeferred(answer)) this.#deferred++;
      return answer;
    } catch (error) {
      this.series.operation(kind, performance.now() - begunAtMs, false);
      const { code, name } = error as { code?: string; name?: string };
      this.#fail(`${kind}: ${code ?? name ?? "error"}`);
      // Who is refused does not come again in the same moment.
      await pause(RETRY_MS);
      return undefined;
    }
  }

  #fail(reason: string): void {
    this.#failures++;
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
  }

  #newClient(): HttpsClient {
    const client = this.#options.newClient();
    this.#clients.push(client);
    return client;
  }
}

function isDeferred({ status, headers }: Pick<Answer, "status" | "headers">): boolean {
  return (status === 429 || status === 503) && headers["retry-after"] !== undefined;
}

function toBody(name: string, value: number): object {
  return { metadata: { name }, data: { value: String(value), at: String(Date.now()) } };
}

function countOf(object: object): number {
  return Number((object as { data?: { value?: string } }).data?.value ?? 0);
}

async function eventuallyGet(client: HttpsClient, path: string) {
  for (let waited = 0; ; waited += RETRY_MS) {
    const answer = await client.get(path).catch(() => undefined);
    if (answer?.status === 200) return answer.items;
    if (waited > 2 * REQUEST_DEADLINE_MS) throw new Error(`${path}: ${answer?.text}`);
    await pause(RETRY_MS);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
