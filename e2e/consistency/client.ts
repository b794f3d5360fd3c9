/**
 * One client: does one random thing after the other on random replicas and writes down how it went.
 * What may or may not have happened (a timeout, a broken connection, a 5xx) is written down as
 * unknown; it never tries the same write again.
 */
import type { Answer, RequestOptions } from "../harness/https-client.js";
import {
  type FireKind,
  keyOf,
  NAMESPACES,
  newWriteId,
  objectUrl,
  scopeUrl,
  toBody,
  toPatch,
  toState,
  toWholePatch,
} from "./api.js";
import type { Replica } from "./cluster.js";
import type { Call, Content, KeyedState, Outcome, Scope } from "./history.js";
import type { Random } from "./random.js";
import type { Recorder } from "./recorder.js";

export const COLORS = ["red", "green", "blue"] as const;

export interface ClientOptions {
  readonly name: string;
  readonly kind: FireKind;
  readonly replicas: readonly Replica[];
  readonly recorder: Recorder;
  readonly random: Random;
  readonly namesPerNamespace: number;
  readonly counts: ClientCounts;
  /** A short wait between operations keeps the machine usable. */
  readonly thinkMs: number;
}

/** Shared by all clients. */
export interface ClientCounts {
  /** By kind, such as "get" or "list limit". */
  readonly operations: Map<string, number>;
  unknown: number;
  /** Lists that were too old to go on or to begin (410). */
  expiredLists: number;
}

/** Shorter and longer than most pauses and partitions. */
const PATIENCE_MS = [400, 1_000, 2_500, 5_000] as const;
/** A client that was refused a connection does not spin. */
const BACKOFF_MS = 25;
/** A replica that just failed is avoided, mostly, for so long. */
const AVOID_MS = 1_000;

const UNKNOWN_STATUS = new Set([500, 502, 503, 504]);

type Sent =
  | { readonly type: "answer"; readonly answer: Answer }
  /** `isNothing`: the request certainly never left. */
  | { readonly type: "lost"; readonly why: string; readonly isNothing: boolean };

export class FireClient {
  readonly #options: ClientOptions;
  readonly #random: Random;
  readonly #recorder: Recorder;
  /** What this client last saw of each object, for conditional writes. */
  readonly #lastSeen = new Map<string, number>();
  readonly #avoidUntil = new Map<number, number>();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#recorder = options.recorder;
  }

  /** Until `signal` aborts; what is under way then is finished. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#doSomething();
      if (this.#options.thinkMs > 0) await sleep(this.#random.next() * 2 * this.#options.thinkMs);
    }
  }

  async #doSomething(): Promise<void> {
    const actions: readonly (readonly [number, () => Promise<void>])[] = [
      [12, () => this.#write({ kind: "create", content: this.#newContent() })],
      [14, () => this.#replace(true)],
      [6, () => this.#replace(false)],
      [12, () => this.#write({ kind: "patch", w: newWriteId() })],
      [6, () => this.#delete()],
      [1, () => this.#deleteCollection()],
      [18, () => this.get(this.#someKey(), "")],
      [6, () => this.get(this.#someKey(), 0)],
      [6, () => this.get(this.#someKey(), this.#recorder.newest)],
      [8, () => this.#list()],
    ];
    let draw = this.#random.next() * actions.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, act] of actions) {
      draw -= weight;
      if (draw < 0) return await act();
    }
  }

  async #replace(isConditional: boolean): Promise<void> {
    const key = this.#someKey();
    const base = isConditional ? await this.#versionOf(key) : undefined;
    const content = this.#newContent();
    const condition = base === undefined ? {} : { base };
    await this.#write({ kind: "replace", content, ...condition }, key);
  }

  async #delete(): Promise<void> {
    const key = this.#someKey();
    const base = this.#random.chance(0.3) ? await this.#versionOf(key) : undefined;
    await this.#write({ kind: "delete", ...(base === undefined ? {} : { base }) }, key);
  }

  /** As a client does that reads before it writes; now and then what it knows is old. */
  async #versionOf(key: string): Promise<number | undefined> {
    if (!this.#lastSeen.has(key) || this.#random.chance(0.7)) await this.get(key, "");
    return this.#lastSeen.get(key);
  }

  /** @param version "" = most recent */
  async get(key: string, version: "" | number): Promise<void> {
    const replica = this.#someReplica();
    this.#count(version === "" ? "get" : version === 0 ? "get rv=0" : "get rv=n");
    const invocation = this.#recorder.invoke(this.#options.name, replica.index);
    const query = version === "" ? "" : `?resourceVersion=${version}`;
    const sent = await this.#send(replica, objectUrl(this.#options.kind, key) + query, {});
    // A read without an answer says nothing.
    if (sent.type === "lost") return;
    const outcome = this.#toOutcome(sent.answer, "get");
    if (outcome === undefined || outcome.type === "unknown") return;
    this.#recorder.operation(invocation, { key, call: { kind: "get", version }, outcome });
    this.#remember(key, outcome);
  }

  async #write(call: Exclude<Call, { kind: "get" }>, key = this.#someKey()): Promise<void> {
    const replica = this.#someReplica();
    this.#count(call.kind);
    const invocation = this.#recorder.invoke(this.#options.name, replica.index);
    const sent = await this.#sendCall(replica, key, call);
    let outcome: Outcome | undefined;
    if (sent.type === "answer") outcome = this.#toOutcome(sent.answer, call.kind);
    else if (!sent.isNothing) outcome = { type: "unknown", why: sent.why };
    if (outcome === undefined) return;
    if (outcome.type === "unknown") this.#options.counts.unknown++;
    this.#recorder.operation(invocation, { key, call, outcome });
    this.#remember(key, outcome);
  }

  #sendCall(replica: Replica, key: string, call: Exclude<Call, { kind: "get" }>): Promise<Sent> {
    const { kind } = this.#options;
    const url = objectUrl(kind, key);
    const patch = (part: unknown) => {
      const headers = { "content-type": "application/merge-patch+json" };
      return this.#send(replica, url, { method: "PATCH", body: JSON.stringify(part), headers });
    };
    switch (call.kind) {
      case "create": {
        const [namespace = ""] = key.split("/");
        const body = toBody(kind, key, call.content, undefined);
        return this.#send(replica, scopeUrl(kind, { namespace }, {}), { method: "POST", body });
      }
      case "replace": {
        const isPut = call.base !== undefined || kind.isReplacedBlindly;
        if (!isPut) return patch(toWholePatch(kind, call.content));
        const body = toBody(kind, key, call.content, call.base);
        return this.#send(replica, url, { method: "PUT", body });
      }
      case "patch":
        return patch(toPatch(kind, call.w));
      case "delete": {
        const preconditions =
          call.base === undefined ? {} : { preconditions: { resourceVersion: String(call.base) } };
        const body = { apiVersion: "v1", kind: "DeleteOptions", ...preconditions };
        return this.#send(replica, url, { method: "DELETE", body });
      }
    }
  }

  /** Many deletes at one revision: what Atomic is about. */
  async #deleteCollection(): Promise<void> {
    const replica = this.#someReplica();
    this.#count("deletecollection");
    const namespace = this.#random.pick(NAMESPACES);
    const color = this.#random.pick(COLORS);
    const invocation = this.#recorder.invoke(this.#options.name, replica.index);
    const url = scopeUrl(this.#options.kind, { namespace, color }, {});
    const sent = await this.#send(replica, url, { method: "DELETE" });
    const completedMs = this.#recorder.nowMs();
    const call: Call = { kind: "delete", isCollective: true };
    if (sent.type === "answer" && sent.answer.status === 200) {
      for (const { key } of this.#statesOf(sent.answer)) {
        this.#recorder.operation(invocation, { key, call, outcome: { type: "ok" } }, completedMs);
      }
      return;
    }
    if (sent.type === "lost" && sent.isNothing) return;
    const isRefused = sent.type === "answer" && this.#toOutcome(sent.answer, "list") === undefined;
    if (isRefused) return;
    const why = sent.type === "lost" ? sent.why : String(sent.answer.status);
    this.#options.counts.unknown++;
    for (const key of this.#keysOf(namespace)) {
      this.#recorder.operation(invocation, { key, call, outcome: { type: "unknown", why } });
    }
  }

  async #list(): Promise<void> {
    const scope = this.#someScope();
    const newest = this.#recorder.newest;
    const past = Math.max(1, newest - this.#random.between(0, 200));
    const form = this.#random.pick([
      { version: "", match: "", limit: 0 },
      { version: "", match: "", limit: 3 },
      { version: 0, match: "", limit: 0 },
      { version: 0, match: "NotOlderThan", limit: 0 },
      { version: newest, match: "", limit: 0 },
      { version: newest, match: "NotOlderThan", limit: 0 },
      { version: newest, match: "NotOlderThan", limit: 4 },
      { version: past, match: "Exact", limit: 0 },
      { version: past, match: "Exact", limit: 3 },
      { version: past, match: "", limit: 5 },
    ] as const);
    await this.list(scope, form);
  }

  /** A list with all its pages, each from a random replica. */
  async list(
    scope: Scope,
    form: {
      readonly version: "" | number;
      readonly match: "" | "Exact" | "NotOlderThan";
      readonly limit: number;
    },
    only?: Replica,
  ): Promise<boolean> {
    const { version, match, limit } = form;
    const replica = only ?? this.#someReplica();
    this.#count(`list${limit > 0 ? " limit" : ""}${match === "" ? "" : ` ${match}`}`);
    const invocation = this.#recorder.invoke(this.#options.name, replica.index);
    const pages: number[] = [];
    const items: KeyedState[] = [];
    let parameters: Record<string, string> = {
      ...(version === "" ? {} : { resourceVersion: String(version) }),
      ...(match === "" ? {} : { resourceVersionMatch: match }),
    };
    let from = replica;
    for (;;) {
      if (limit > 0) parameters.limit = String(limit);
      const sent = await this.#send(from, scopeUrl(this.#options.kind, scope, parameters), {});
      if (sent.type === "lost") return false;
      if (sent.answer.status === 410) {
        this.#options.counts.expiredLists++;
        return false;
      }
      if (sent.answer.status !== 200) {
        this.#toOutcome(sent.answer, "list");
        return false;
      }
      const { metadata } = sent.answer.object;
      pages.push(Number(metadata.resourceVersion));
      items.push(...this.#statesOf(sent.answer));
      const token = metadata.continue ?? "";
      if (token === "") break;
      parameters = { continue: token };
      from = only ?? this.#someReplica();
    }
    this.#recorder.list(invocation, { scope, version, match, limit, pages, items });
    return true;
  }

  /** undefined = it certainly had no effect and says nothing about the object. */
  #toOutcome(answer: Answer, verb: Call["kind"] | "list"): Outcome | undefined {
    const { status } = answer;
    if (status === 200 || status === 201) {
      if (verb === "delete") return { type: "ok" };
      const state = toState(this.#options.kind, answer.object);
      return state === undefined ? undefined : { type: "ok", state };
    }
    if (status === 500) this.#recorder.surprise(`${verb}: ${status} ${answer.text.slice(0, 300)}`);
    if (UNKNOWN_STATUS.has(status)) return { type: "unknown", why: String(status) };
    if (status === 429) return undefined;
    const { reason, details } = answer.object as unknown as {
      reason?: string;
      details?: { kind?: string; name?: string };
    };
    // A collection, a namespace and a kind are always there; only objects come and go.
    const isAboutObject = details?.name !== undefined && details.kind !== "namespaces";
    if (status === 404 && isAboutObject && verb !== "create" && verb !== "list") {
      return { type: "refused", reason: "NotFound" };
    }
    if (status === 409 && reason === "AlreadyExists") {
      return { type: "refused", reason: "AlreadyExists" };
    }
    if (status === 409) return { type: "refused", reason: "Conflict" };
    this.#recorder.surprise(`${verb}: ${status} ${answer.text.slice(0, 300)}`);
    return undefined;
  }

  #remember(key: string, outcome: Outcome): void {
    if (outcome.type === "ok" && outcome.state !== undefined) {
      this.#lastSeen.set(key, outcome.state.revision);
    }
  }

  async #send(replica: Replica, path: string, options: RequestOptions): Promise<Sent> {
    const signal = AbortSignal.timeout(this.#random.pick(PATIENCE_MS));
    try {
      const answer = await replica.client.request(path, { ...options, signal });
      return { type: "answer", answer };
    } catch (error) {
      this.#avoidUntil.set(replica.index, this.#recorder.nowMs() + AVOID_MS);
      await sleep(BACKOFF_MS);
      const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
      return { type: "lost", why: code, isNothing: code === "ECONNREFUSED" };
    }
  }

  #statesOf(answer: Answer): KeyedState[] {
    return answer.items.flatMap((item) => toState(this.#options.kind, item) ?? []);
  }

  #someReplica(): Replica {
    const { replicas } = this.#options;
    const now = this.#recorder.nowMs();
    const good = replicas.filter(({ index }) => (this.#avoidUntil.get(index) ?? 0) < now);
    return this.#random.pick(good.length === 0 || this.#random.chance(0.1) ? replicas : good);
  }

  #someKey(): string {
    return this.#random.pick(this.#keysOf(this.#random.pick(NAMESPACES)));
  }

  #keysOf(namespace: string): string[] {
    const { namesPerNamespace } = this.#options;
    return Array.from({ length: namesPerNamespace }, (_, index) => keyOf(namespace, `k${index}`));
  }

  #someScope(): Scope {
    const namespace = this.#random.pick(NAMESPACES);
    const color = this.#random.pick(COLORS);
    return this.#random.pick<Scope>([{}, {}, { namespace }, { color }, { namespace, color }]);
  }

  #newContent(): Content {
    const w = newWriteId();
    return { w, v: w, p: "", color: this.#random.pick(COLORS) };
  }

  #count(kind: string): void {
    const { operations } = this.#options.counts;
    operations.set(kind, (operations.get(kind) ?? 0) + 1);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
