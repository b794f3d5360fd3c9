/**
 * What really happened in one namespace: every event in order, as one watch told it, from which the
 * state at any version follows. Answers are compared with it after the fact, so they may be taken
 * while others write. The writes that were acknowledged must be in it, or the history itself is wrong.
 */
import assert from "node:assert/strict";
import { eventually, soon } from "../harness/eventually.js";
import type { ApiObject, HttpsClient, WatchEvent } from "../harness/https-client.js";
import type { Subject } from "./subjects.js";

/** "a@17": an object at a version. */
export type Version = string;

export interface PastEvent {
  readonly type: string;
  readonly name: string;
  readonly revision: number;
}

export class History implements AsyncDisposable {
  readonly path: string;
  readonly events: PastEvent[] = [];
  readonly #acknowledged: number[] = [];
  /** Objects whose deletion was acknowledged last: its answer names no version. */
  readonly #deleted = new Set<string>();
  readonly #start: number;
  readonly #ended = new AbortController();
  readonly #writers: Promise<void>[] = [];
  #isWriting = true;
  #writes = 0;

  private constructor(path: string, start: number) {
    this.path = path;
    this.#start = start;
  }

  /** Makes a namespace and writes down from now on what happens to ConfigMaps in it. */
  static async open(subject: Subject, namespace: string): Promise<History> {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
    const created = (await subject.next().post("/api/v1/namespaces", body)).expect(201);
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const history = new History(path, revisionOf(created.object));
    const url = `${path}?watch=1&resourceVersion=${history.#start}`;
    const watch = await subject.next().watch(url, history.#ended.signal);
    void (async () => {
      try {
        for await (const event of watch) history.events.push(toPast(event));
      } catch {
        // The end of the test.
      }
    })();
    return history;
  }

  /** The version of the last write that was acknowledged. */
  get floor(): number {
    return this.#acknowledged.at(-1) ?? this.#start;
  }

  /** A version so many writes ago. */
  writesAgo(count: number): number {
    return this.#acknowledged.at(-1 - count) ?? this.#start;
  }

  async create(client: HttpsClient, name: string, labels?: Record<string, string>, data = "x") {
    const body = toConfigMap(name, labels, data);
    const created = (await client.post(this.path, body)).expect(201);
    this.#deleted.delete(name);
    return this.acknowledge(created);
  }

  async update(client: HttpsClient, name: string, labels?: Record<string, string>, data = "x") {
    const body = toConfigMap(name, labels, data);
    return this.acknowledge((await client.put(`${this.path}/${name}`, body)).expect(200));
  }

  async delete(client: HttpsClient, name: string): Promise<void> {
    (await client.delete(`${this.path}/${name}`)).expect(200);
    this.#deleted.add(name);
  }

  acknowledge({ object }: { object: ApiObject }): ApiObject {
    this.#acknowledged.push(revisionOf(object));
    return object;
  }

  /** Creates, changes and deletes objects "w-..." in the background until `stop`. */
  startWriter(subject: Subject): void {
    const writing = this.#write(subject);
    // Whoever stops the writers hears of it; until then it is not unhandled.
    writing.catch(() => {});
    this.#writers.push(writing);
  }

  async #write(subject: Subject): Promise<void> {
    while (this.#isWriting) {
      const round = this.#writes++;
      const name = `w-${String(round % 7)}`;
      if (round < 7 || round % 14 === 0) await this.create(subject.next(), name);
      else if (round % 14 === 7) await this.delete(subject.next(), name);
      else await this.update(subject.next(), name);
    }
  }

  /** Ends the writers and waits until the history has everything that was acknowledged. */
  async stop(): Promise<void> {
    this.#isWriting = false;
    await Promise.all(this.#writers);
    await this.settle();
  }

  async settle(): Promise<void> {
    await eventually("the history is complete", () => {
      const told = new Set(this.events.map(({ revision }) => revision));
      const last = new Map(this.events.map(({ name, type }) => [name, type]));
      return (
        this.#acknowledged.every((revision) => told.has(revision)) &&
        [...this.#deleted].every((name) => last.get(name) === "DELETED")
      );
    });
    const revisions = this.events.map(({ revision }) => revision);
    assert.deepEqual(
      revisions,
      [...revisions].sort((a, b) => a - b),
      "Ordered",
    );
    assert.equal(new Set(revisions).size, revisions.length, "Unique");
  }

  /** The objects at a version, in the order of a list. */
  stateAt(revision: number): Version[] {
    const state = new Map<string, number>();
    for (const event of this.events) {
      if (event.revision > revision) break;
      if (event.type === "DELETED") state.delete(event.name);
      else state.set(event.name, event.revision);
    }
    const names = [...state.keys()].sort();
    return names.map((name) => `${name}@${state.get(name)}`);
  }

  /** The events after a version, as texts. */
  eventsAfter(revision: number): string[] {
    return this.events.filter((event) => event.revision > revision).map(toText);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isWriting = false;
    this.#ended.abort();
    await Promise.allSettled(this.#writers);
  }
}

export function revisionOf(object: ApiObject): number {
  return Number(object.metadata.resourceVersion);
}

export function toVersions(items: readonly ApiObject[]): Version[] {
  return items.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
}

/** "ADDED a@17" */
export function toText({ type, name, revision }: PastEvent): string {
  return `${type} ${name}@${revision}`;
}

export function toPast({ type, object }: WatchEvent): PastEvent {
  return { type, name: object.metadata?.name ?? "", revision: revisionOf(object) };
}

export function toConfigMap(name: string, labels?: Record<string, string>, data = "x") {
  const metadata = { name, ...(labels === undefined ? {} : { labels }) };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    data: { data, at: String(Math.random()) },
  };
}

/** The events of a watch up to the one of the object `last`, which is included. Then it is closed. */
export async function eventsUntil(
  client: HttpsClient,
  url: string,
  last: string,
  onOpen: () => Promise<void> = async () => {},
): Promise<WatchEvent[]> {
  const ended = new AbortController();
  const watch = await client.watch(url, AbortSignal.any([ended.signal, soon()]));
  await onOpen();
  const events: WatchEvent[] = [];
  try {
    for await (const event of watch) {
      events.push(event);
      if (event.object.metadata?.name === last || event.type === "ERROR") break;
    }
  } catch (error) {
    const told = events.map((event) => toText(toPast(event)));
    throw new Error(`${url}: no event of ${last} after ${told.join(", ")}`, { cause: error });
  } finally {
    ended.abort();
  }
  return events;
}
