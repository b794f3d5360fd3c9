/**
 * One client that watches: gets a state, follows it, and when the stream ends goes on from the last
 * revision that it was shown, on whatever replica. What it was told is written down per stream.
 */
import type { ApiObject } from "../harness/https-client.js";
import { type FireKind, NAMESPACES, scopeUrl, toItem, toState } from "./api.js";
import { COLORS, sleep } from "./client.js";
import type { Replica } from "./cluster.js";
import type { Scope, WatchItem, WatchSession } from "./history.js";
import type { Random } from "./random.js";
import type { Invocation, Recorder } from "./recorder.js";

export interface WatcherOptions {
  readonly name: string;
  readonly kind: FireKind;
  readonly replicas: readonly Replica[];
  readonly recorder: Recorder;
  readonly random: Random;
  readonly counts: WatcherCounts;
  readonly namesPerNamespace: number;
  /** Follows everything from here on and never begins anew unless it must; else it wanders. */
  readonly witness?: { readonly home: Replica; readonly from: number };
}

/** Shared by all watchers. */
export interface WatcherCounts {
  sessions: number;
  resumes: number;
  /** Resumes on another replica than the stream before. */
  moves: number;
  events: number;
  bookmarks: number;
  /** Watches that were told 410. */
  expired: number;
  /** New lists that became necessary, as no replica could go on. */
  relists: number;
}

/** Slack over the server's own timeout, after which a silent stream is given up. */
const SLACK_MS = 2_000;
const LIST_PATIENCE_MS = 4_000;
const BACKOFF_MS = 50;
/** A wandering watcher begins anew, with another scope, this often. */
const BEGIN_ANEW = 0.2;
/** A watch that follows its home replica mostly, still shows the others now and then. */
const LEAVE_HOME = 0.15;

export class FireWatcher {
  readonly #options: WatcherOptions;
  readonly #random: Random;
  #scope: Scope = {};
  /** Everything up to it was told; undefined = nothing was. */
  #position: number | undefined;
  #lastReplica: Replica | undefined;
  #expiredInARow = 0;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#position = options.witness?.from;
  }

  /** 0 as long as it has seen nothing. */
  get position(): number {
    return this.#position ?? 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isWandering = this.#options.witness === undefined;
      if (isWandering && (this.#position === undefined || this.#random.chance(BEGIN_ANEW))) {
        this.#position = undefined;
        this.#scope = this.#someScope();
      }
      const replica = this.#someReplica();
      const isFine =
        this.#position === undefined && this.#random.chance(0.5)
          ? await this.#list(replica)
          : await this.#watch(replica, signal);
      if (!isFine) await sleep(BACKOFF_MS);
    }
  }

  /** The first half of "list and watch". */
  async #list(replica: Replica): Promise<boolean> {
    const { recorder, name, kind } = this.#options;
    const invocation = recorder.invoke(name, replica.index);
    const version = this.#random.pick(["", 0] as const);
    const parameters: Record<string, string> = version === "" ? {} : { resourceVersion: "0" };
    try {
      const signal = AbortSignal.timeout(LIST_PATIENCE_MS);
      const url = scopeUrl(kind, this.#scope, parameters);
      const answer = await replica.client.request(url, { signal });
      if (answer.status !== 200) return false;
      const revision = Number(answer.object.metadata.resourceVersion);
      const items = answer.items.flatMap((item) => toState(kind, item) ?? []);
      const scope = this.#scope;
      recorder.list(invocation, { scope, version, match: "", limit: 0, pages: [revision], items });
      this.#position = revision;
      return true;
    } catch {
      return false;
    }
  }

  async #watch(replica: Replica, stop: AbortSignal): Promise<boolean> {
    const { recorder, name, counts, kind } = this.#options;
    const start = this.#someStart();
    const seconds = this.#random.between(1, 6);
    const parameters = { ...parametersOf(start), timeoutSeconds: String(seconds) };
    const url = scopeUrl(kind, this.#scope, parameters);
    const silence = AbortSignal.timeout(seconds * 1_000 + SLACK_MS);
    const items: WatchItem[] = [];
    const invocation = recorder.invoke(name, replica.index);
    counts.sessions++;
    if (start.kind === "resume") {
      counts.resumes++;
      if (this.#lastReplica !== undefined && this.#lastReplica !== replica) counts.moves++;
    }
    this.#lastReplica = replica;
    let ending: string;
    try {
      const events = await replica.client.watch(url, AbortSignal.any([stop, silence]));
      ending = await this.#follow(events, start, items);
    } catch (error) {
      ending = stop.aborted ? "stopped" : endingOf(error);
    }
    this.#write(invocation, start, items, ending);
    if (ending === "expired") this.#handleExpired();
    else if (ending === "end") this.#expiredInARow = 0;
    return ending === "end";
  }

  async #follow(
    events: AsyncIterable<{ readonly type: string; readonly object: ApiObject }>,
    start: WatchSession["start"],
    items: WatchItem[],
  ): Promise<string> {
    const { recorder, counts, kind } = this.#options;
    let isLive = start.kind === "resume";
    for await (const { type, object } of events) {
      if (type === "ERROR") return object.code === 410 ? "expired" : JSON.stringify(object);
      const item = toItem(kind, type, object);
      if (item === undefined) continue;
      items.push(item);
      recorder.sawItem(item);
      if (item.type === "BOOKMARK") counts.bookmarks++;
      else counts.events++;
      if (item.type === "BOOKMARK" && item.isInitialEnd) isLive = true;
      if (isLive) {
        this.#position = item.type === "BOOKMARK" ? item.revision : item.state.revision;
        this.#expiredInARow = 0;
      }
    }
    return "end";
  }

  #write(
    invocation: Invocation,
    start: WatchSession["start"],
    items: readonly WatchItem[],
    ending: string,
  ): void {
    this.#options.recorder.session(invocation, { scope: this.#scope, start, items, ending });
  }

  /** Another replica may still know the way; only when none does, a new list is needed. */
  #handleExpired(): void {
    const { counts, replicas } = this.#options;
    counts.expired++;
    if (++this.#expiredInARow < replicas.length * 2) return;
    this.#expiredInARow = 0;
    counts.relists++;
    this.#position = undefined;
  }

  #someReplica(): Replica {
    const { replicas, witness } = this.#options;
    const others = replicas.filter((replica) => replica !== this.#lastReplica);
    if (this.#expiredInARow > 0 && others.length > 0) return this.#random.pick(others);
    if (witness !== undefined && !this.#random.chance(LEAVE_HOME)) return witness.home;
    return this.#random.pick(replicas);
  }

  #someScope(): Scope {
    const namespace = this.#random.pick(NAMESPACES);
    const color = this.#random.pick(COLORS);
    const name = `k${this.#random.between(0, this.#options.namesPerNamespace - 1)}`;
    return this.#random.pick<Scope>([{}, {}, { namespace }, { color }, { namespace, name }]);
  }

  #someStart(): WatchSession["start"] {
    if (this.#position !== undefined) return { kind: "resume", after: this.#position };
    return { kind: "state", version: this.#random.pick(["", 0, this.#options.recorder.newest]) };
  }
}

function parametersOf(start: WatchSession["start"]): Record<string, string> {
  const common = { watch: "1", allowWatchBookmarks: "true" };
  if (start.kind === "resume") return { ...common, resourceVersion: String(start.after) };
  return {
    ...common,
    sendInitialEvents: "true",
    resourceVersionMatch: "NotOlderThan",
    ...(start.version === "" ? {} : { resourceVersion: String(start.version) }),
  };
}

/** Why a stream ended that did not end in good order. */
function endingOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/: 410 /.test(message)) return "expired";
  return message.slice(0, 200);
}
