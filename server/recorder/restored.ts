/** What the files of a recorder say of before its process began. Pure but for the reading. */

import { DELIVERY_NUMBERS } from "./delivery-ring.js";
import type { KeptRead, KeptWrite } from "./kept.js";
import { FORM, numbersOf, parseLine, type RecordLine } from "./record-lines.js";
import type { RecordedClient } from "./record-types.js";

/** Numbers that the last process gave to records which never reached a file are not given again. */
const NUMBERS_LOST_MAX = 1_000_000;

export interface Restored {
  /** Of the process that wrote the newest file; "" = nobody's. */
  readonly replica: string;
  /** The store that its revisions are of. */
  readonly store: string;
  readonly clients: readonly RecordedClient[];
  /** The oldest first, as all here. */
  readonly writes: readonly KeptWrite[];
  readonly reads: readonly KeptRead[];
  /** In the form of DeliveryRing. */
  readonly deliveries: readonly Float64Array[];
  /** Numbers up to this one are taken. */
  readonly numbersTaken: number;
  /** Lines that are damaged. */
  readonly damaged: number;
}

/** Of one replica and one store: what older files say of others is left out. */
export class Restoring {
  #replica = "";
  #store = "";
  readonly #clients = new Map<string, RecordedClient>();
  #writes: KeptWrite[] = [];
  readonly #reads = new Map<number, KeptRead>();
  #deliveries: Float64Array[] = [];
  #taken = 0;
  #lastAtMs = 0;
  #damaged = 0;

  /** @param text of a file; the oldest first */
  add(text: string): void {
    // The first line says whose the others are; without it they are nobody's.
    let isOwn = false;
    for (const line of text.split("\n")) {
      if (line === "") continue;
      const record = parseLine(line);
      if (record === undefined) this.#damaged++;
      else if (record.of === "file") isOwn = this.#begin(record);
      else if (isOwn) this.#take(record);
    }
  }

  end(): Restored {
    const reads = [...this.#reads.values()].sort((a, b) => a.number - b.number);
    // Nothing went out any more behind the last record.
    for (const read of reads) read.endedAtMs ??= Math.max(this.#lastAtMs, read.atMs);
    return {
      replica: this.#replica,
      store: this.#store,
      clients: [...this.#clients.values()],
      writes: this.#writes,
      reads,
      deliveries: this.#deliveries,
      numbersTaken: this.#taken === 0 ? 0 : this.#taken + NUMBERS_LOST_MAX,
      damaged: this.#damaged,
    };
  }

  #begin({ form, replica, store }: RecordLine & { readonly of: "file" }): boolean {
    if (form !== FORM) return false;
    if (replica === this.#replica && store === this.#store) return true;
    this.#replica = replica;
    this.#store = store;
    this.#clients.clear();
    this.#writes = [];
    this.#reads.clear();
    this.#deliveries = [];
    return true;
  }

  #take(record: Exclude<RecordLine, { readonly of: "file" }>): void {
    if (record.of === "client") {
      this.#clients.set(record.client.id, record.client);
      this.#note(Number(/-c(\d+)$/.exec(record.client.id)?.[1] ?? 0), 0);
    } else if (record.of === "deliveries") {
      this.#deliver(numbersOf(record.numbers));
    } else {
      const client = this.#clients.get(record.client);
      if (client === undefined) return;
      if (record.of === "write") {
        const { write } = record;
        this.#writes.push({ ...write, client });
        this.#note(write.number, write.atMs);
      } else {
        const { read } = record;
        // JSON has no undefined.
        this.#reads.set(read.number, { ...read, endedAtMs: read.endedAtMs, client });
        this.#note(read.number, read.endedAtMs ?? read.atMs);
      }
      this.#note(record.of === "write" ? record.write.connection : record.read.connection, 0);
    }
  }

  #deliver(numbers: Float64Array): void {
    this.#deliveries.push(numbers);
    for (let at = 0; at + DELIVERY_NUMBERS <= numbers.length; at += DELIVERY_NUMBERS) {
      const [watch = 0, revision = 0, atMs = 0] = numbers.subarray(at, at + DELIVERY_NUMBERS);
      const read = this.#reads.get(watch);
      if (read !== undefined && read.endedAtMs === undefined && revision > read.upTo) {
        read.upTo = revision;
        read.upToAtMs = atMs;
        read.events++;
      }
      this.#note(0, atMs);
    }
  }

  #note(number: number, atMs: number): void {
    if (number > this.#taken) this.#taken = number;
    if (atMs > this.#lastAtMs) this.#lastAtMs = atMs;
  }
}
