/** A store whose every answer the test decides. */
import { StorageError } from "../../kv/errors.js";
import {
  type KeyValue,
  type RangeRequest,
  type RangeResult,
  type Revision,
  type RevisionedStore,
  type StoreEvent,
  toRevision,
  type WatchBatch,
  type WatchOptions,
} from "../../kv/store.js";

/** The test releases each batch; a thrown error ends the watch as lost history does. */
export class ScriptedStore implements RevisionedStore {
  revision = toRevision(10);
  kvs: KeyValue[] = [];
  /** The events that a watch from an earlier revision gets. */
  history: StoreEvent[] = [];
  progressRequests = 0;
  revisionReads: { resolve(revision: Revision): void; reject(error: Error): void }[] = [];
  answersAtOnce = true;
  onProgress: () => void = () => {};
  #historyIsThere = Promise.resolve();
  readonly #queue: (WatchBatch | StorageError)[] = [];
  #wake: () => void = () => {};

  deliver(batch: WatchBatch | StorageError): void {
    this.#queue.push(batch);
    this.#wake();
  }

  /** Returns the function that lets go of the history. */
  holdHistory(): () => void {
    let letGo = () => {};
    this.#historyIsThere = new Promise((resolve) => {
      letGo = resolve;
    });
    return letGo;
  }

  currentRevision(signal: AbortSignal): Promise<Revision> {
    if (this.answersAtOnce) return Promise.resolve(this.revision);
    return new Promise((resolve, reject) => {
      this.revisionReads.push({ resolve, reject });
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  }

  async range({ after, limit = 0, revision }: RangeRequest): Promise<RangeResult> {
    const rest = this.kvs.filter((kv) => after === undefined || kv.key > after);
    const kvs = limit > 0 ? rest.slice(0, limit) : rest;
    return {
      kvs,
      more: kvs.length < rest.length,
      count: rest.length,
      revision: revision ?? this.revision,
    };
  }

  async *watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchBatch> {
    if (options.withPrevious === true) {
      await this.#historyIsThere;
      const isTold = (event: StoreEvent) => revisionOf(event) > options.after;
      yield { revision: this.revision, events: this.history.filter(isTold) };
      return;
    }
    while (!signal.aborted) {
      const next = this.#queue.shift();
      if (next instanceof StorageError) throw next;
      if (next !== undefined) yield next;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          signal.addEventListener("abort", () => resolve());
        });
      }
    }
  }

  requestProgress(): void {
    this.progressRequests++;
    this.onProgress();
  }

  get(): never {
    throw new Error("the view reads no single keys");
  }
  commit(): never {
    throw new Error("the view writes nothing");
  }
  lease(): never {
    throw new Error("the view takes no leases");
  }
  compact(): never {
    throw new Error("the view compacts nothing");
  }
  async [Symbol.asyncDispose](): Promise<void> {}
}

function revisionOf(event: StoreEvent): Revision {
  return event.type === "put" ? event.kv.modRevision : event.modRevision;
}

export function configMap(name: string, revision: number): KeyValue {
  const metadata = { name, namespace: "default", uid: `uid-of-${name}` };
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata };
  return {
    key: `/registry/core/configmaps/default/${name}`,
    value: Buffer.from(JSON.stringify(object)),
    modRevision: toRevision(revision),
    createRevision: toRevision(revision),
  };
}
