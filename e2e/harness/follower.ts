/**
 * Follower: watches as controllers do. It lists once and watches from there, and whenever a stream ends it
 * goes on from what it saw last, wherever it is led. A client's patience with lost connections, and nothing else.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "./eventually.js";
import { HttpsClient, type WatchEvent } from "./https-client.js";

const AGAIN_MS = 20;

export class Follower implements AsyncDisposable {
  /** All events but bookmarks, in their order. */
  readonly events: WatchEvent[] = [];
  /** Answers and events that a watch must not get. */
  readonly failures: string[] = [];
  /** Streams that were begun. */
  streams = 0;
  readonly #client: HttpsClient;
  readonly #path: string;
  readonly #ending = new AbortController();
  #version: string;
  #following: Promise<void> = Promise.resolve();

  private constructor(client: HttpsClient, path: string, version: string) {
    this.#client = client;
    this.#path = path;
    this.#version = version;
  }

  /** Follows a collection from now on, or from a version. */
  static async open(
    { url, credentials }: HttpsClient,
    path: string,
    from?: string,
  ): Promise<Follower> {
    const client = new HttpsClient(url, credentials);
    const version =
      from ?? (await client.get(path)).expect(200, path).object.metadata.resourceVersion ?? "";
    const follower = new Follower(client, path, version);
    follower.#following = follower.#run();
    return follower;
  }

  /** Until an object was seen in a version of it. */
  async hasSeen(name: string, version: string): Promise<void> {
    await eventually(`${this.#path}: ${name} in version ${version}`, () => {
      if (this.failures.length > 0) return true;
      return this.events.some(
        ({ object: { metadata } }) =>
          metadata.name === name && metadata.resourceVersion === version,
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#following;
    this.#client.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted && this.failures.length === 0) {
      const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${this.#version}`;
      try {
        const events = await this.#client.watch(`${this.#path}?${query}`, signal);
        this.streams++;
        for await (const event of events) this.#take(event);
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        const isLost = code === "ECONNREFUSED" || code === "ECONNRESET";
        if (!signal.aborted && !isLost) this.failures.push(message);
      }
      await sleep(AGAIN_MS);
    }
  }

  #take(event: WatchEvent): void {
    const { type, object } = event;
    if (type === "ERROR") {
      this.failures.push(JSON.stringify(object));
      return;
    }
    const { resourceVersion = "" } = object.metadata;
    if (BigInt(resourceVersion) < BigInt(this.#version)) {
      this.failures.push(`${resourceVersion} after ${this.#version}`);
    }
    this.#version = resourceVersion;
    if (type !== "BOOKMARK") this.events.push(event);
  }
}
