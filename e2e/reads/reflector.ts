/**
 * A reflector as strict as client-go's: a list (or a streaming list), then watches that resume from
 * the last version seen, on whatever replica is next. It lists again only when it is told 410, and
 * counts that; it takes nothing twice, nothing out of order, and no event that does not fit what it
 * holds.
 */
import assert from "node:assert/strict";
import type { ApiObject, HttpsClient, WatchEvent } from "../harness/https-client.js";
import { revisionOf } from "./history.js";

export interface ReflectorOptions {
  readonly path: string;
  /** The client for the next request; over several replicas another one each time. */
  next(): HttpsClient;
  readonly isStreaming: boolean;
  /** After which a watch ends, and is resumed; default 3. */
  readonly timeoutSeconds?: number;
}

const STREAMING =
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
/** Watches end often, so that resuming is what is tested. */
const TIMEOUT_SECONDS = 3;
/** After a connection that was refused or broke. */
const RETRY_MS = 20;

export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #ended = new AbortController();
  /** "name" -> version */
  readonly store = new Map<string, number>();
  /** Every event after the first list, as text. */
  readonly told: string[] = [];
  lists = 0;
  /** Lists after the first: each one a 410. */
  relists = 0;
  /** Connections that broke or were refused, and watches that were opened. */
  failures = 0;
  watches = 0;
  #revision = 0;
  #running: Promise<void> | undefined;
  #onSynced: () => void = () => {};

  constructor(options: ReflectorOptions) {
    this.#options = options;
  }

  /** The version up to which everything has been seen. */
  get revision(): number {
    return this.#revision;
  }

  /** Resolves when the first list is complete. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onSynced = resolve;
      this.#running = this.#run();
      this.#running.catch(reject);
    });
  }

  /** @throws {AssertionError} what was wrong with what it was told */
  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      try {
        if (this.#revision === 0) await this.#list();
        else await this.#watch(`resourceVersion=${this.#revision}&allowWatchBookmarks=true`);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        if (this.#ended.signal.aborted) return;
        this.failures++;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #list(): Promise<void> {
    const { path, next, isStreaming } = this.#options;
    this.lists++;
    this.store.clear();
    if (isStreaming) return await this.#watch(STREAMING);
    let token = "";
    do {
      const position = token === "" ? "" : `&continue=${token}`;
      const answer = await next().get(`${path}?limit=500${position}`);
      if (answer.status !== 200) throw new Error(`list: ${answer.status}`);
      const { object, items } = answer;
      for (const item of items) this.store.set(item.metadata.name ?? "", revisionOf(item));
      token = object.metadata.continue ?? "";
      if (token === "") this.#revision = revisionOf(object);
    } while (token !== "");
    this.#onSynced();
  }

  async #watch(query: string): Promise<void> {
    const { path, next, timeoutSeconds = TIMEOUT_SECONDS } = this.#options;
    const url = `${path}?watch=1&timeoutSeconds=${timeoutSeconds}&${query}`;
    const watch = await next().watch(url, this.#ended.signal);
    this.watches++;
    for await (const event of watch) {
      if (event.type === "ERROR") {
        assert.equal(event.object.code, 410, JSON.stringify(event.object));
        this.relists++;
        this.#revision = 0;
        return;
      }
      this.#take(event);
    }
  }

  #take({ type, object }: WatchEvent): void {
    const revision = revisionOf(object);
    if (type === "BOOKMARK") {
      assert.ok(revision >= this.#revision, `Bookmarkable: ${revision} after ${this.#revision}`);
      this.#revision = revision;
      if (object.metadata.annotations?.["k8s.io/initial-events-end"] === "true") this.#onSynced();
      return;
    }
    // The initial events of a streaming list come in the order of names.
    if (this.#revision === 0) {
      assert.equal(type, "ADDED");
      this.store.set(object.metadata.name ?? "", revision);
      return;
    }
    assert.ok(revision > this.#revision, `Ordered, Unique: ${revision} after ${this.#revision}`);
    this.#change(type, object, revision);
    this.#revision = revision;
    this.told.push(`${type} ${object.metadata.name}@${revision}`);
  }

  #change(type: string, object: ApiObject, revision: number): void {
    const name = object.metadata.name ?? "";
    const isKnown = this.store.has(name);
    assert.equal(isKnown, type !== "ADDED", `Reliable: ${type} of ${name}, known: ${isKnown}`);
    if (type === "DELETED") this.store.delete(name);
    else this.store.set(name, revision);
  }
}
