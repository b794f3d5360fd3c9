/**
 * RecordBatches: what a recorder has kept since a moment as lines of a file, in pieces. Remembers of which clients and
 * reads the file has a line. A piece counts only when it was written: `next` is where the following one goes on.
 */
import { DELIVERY_NUMBERS } from "./delivery-ring.js";
import type { KeptRead } from "./kept.js";
import { deliveriesLine, readLine, toLine, writeLine } from "./record-lines.js";
import type { RecordedClient } from "./record-types.js";
import type { Recorder } from "./recorder.js";

/** How many of each kind have come in all. */
export interface Cursor {
  readonly writes: number;
  readonly reads: number;
  readonly deliveries: number;
}

export interface Batch {
  /** "" = nothing has come. */
  readonly text: string;
  /** Records that had gone from memory, and deliveries that have no room beside the rest. */
  readonly dropped: number;
  readonly next: Cursor;
}

export type RecordSource = Pick<Recorder, "writes" | "reads" | "deliveries">;

export function cursorOf({ writes, reads, deliveries }: RecordSource): Cursor {
  return { writes: writes.pushed, reads: reads.pushed, deliveries: deliveries.pushed };
}

/** Of one piece: it is made in one turn of the event loop. */
const RECORDS_MAX = 500;
const DELIVERIES_MAX = 5_000;
/** Of a file, for each byte of everything else: many watchers would leave no room for writes. */
const DELIVERIES_SHARE = 4;
const DELIVERIES_FREE_CHARS = 64 * 1024;
const DELIVERY_CHARS = (DELIVERY_NUMBERS * 8 * 4) / 3;

export class RecordBatches {
  readonly #source: RecordSource;
  readonly #clients = new Set<string>();
  readonly #reads = new Set<number>();
  /** Those without an end in the files. */
  readonly #open = new Map<number, KeptRead>();
  #deliveryChars = 0;
  #otherChars = 0;

  constructor(source: RecordSource) {
    this.#source = source;
  }

  /** A file begins, or the last piece was not written: nothing has a line. */
  reset(): void {
    this.#clients.clear();
    this.#reads.clear();
    this.#deliveryChars = 0;
    this.#otherChars = 0;
  }

  /** @param charsMax a piece ends with the record that reaches it */
  next(cursor: Cursor, charsMax: number): Batch {
    const { writes, reads, deliveries } = this.#source;
    const lines = new Lines(charsMax);
    this.#addEnded(lines);
    const read = reads.since(cursor.reads, RECORDS_MAX);
    let readsDone = 0;
    for (; readsDone < read.length && lines.hasRoom; readsDone++) {
      this.#addRead(lines, read[readsDone] as KeptRead);
    }
    const written = writes.since(cursor.writes, RECORDS_MAX);
    let writesDone = 0;
    for (const write of written) {
      if (!lines.hasRoom) break;
      this.#addClient(lines, write.client);
      lines.add(writeLine(write));
      writesDone++;
    }
    const next = {
      writes: Math.max(cursor.writes, writes.dropped) + writesDone,
      reads: Math.max(cursor.reads, reads.dropped) + readsDone,
    };
    const gone = next.writes - writesDone - cursor.writes + (next.reads - readsDone - cursor.reads);
    this.#otherChars += lines.chars;
    // A watch is told before what went out to it.
    const areReadsTold = next.reads === reads.pushed;
    if (!areReadsTold || !lines.hasRoom) {
      return { text: lines.text, dropped: gone, next: { ...next, deliveries: cursor.deliveries } };
    }
    const numbers = deliveries.since(cursor.deliveries, DELIVERIES_MAX);
    const count = numbers.length / DELIVERY_NUMBERS;
    const from = Math.max(cursor.deliveries, deliveries.pushed - deliveries.size);
    const fitting = Math.min(count, this.#deliveriesThatFit());
    if (fitting > 0) this.#addDeliveries(lines, numbers.subarray(0, fitting * DELIVERY_NUMBERS));
    const lost = from - cursor.deliveries + count - fitting;
    return {
      text: lines.text,
      dropped: gone + lost,
      next: { ...next, deliveries: from + count },
    };
  }

  /** Of watches that ended since their line was written. */
  #addEnded(lines: Lines): void {
    for (const read of this.#open.values()) {
      if (!lines.hasRoom) return;
      if (read.endedAtMs !== undefined) this.#addRead(lines, read);
    }
  }

  #addRead(lines: Lines, read: KeptRead): void {
    this.#addClient(lines, read.client);
    lines.add(readLine(read));
    this.#reads.add(read.number);
    if (read.endedAtMs === undefined) this.#open.set(read.number, read);
    else this.#open.delete(read.number);
  }

  #addClient(lines: Lines, client: RecordedClient): void {
    if (this.#clients.has(client.id)) return;
    this.#clients.add(client.id);
    lines.add(toLine({ of: "client", client }));
  }

  #deliveriesThatFit(): number {
    const max = DELIVERIES_FREE_CHARS + DELIVERIES_SHARE * this.#otherChars;
    return Math.max(0, Math.floor((max - this.#deliveryChars) / DELIVERY_CHARS));
  }

  #addDeliveries(lines: Lines, numbers: Float64Array): void {
    for (let at = 0; at < numbers.length; at += DELIVERY_NUMBERS) {
      const read = this.#open.get(numbers[at] as number);
      if (read !== undefined && !this.#reads.has(read.number)) this.#addRead(lines, read);
    }
    lines.add(deliveriesLine(numbers));
    this.#deliveryChars += numbers.length * (DELIVERY_CHARS / DELIVERY_NUMBERS);
  }
}

class Lines {
  readonly #lines: string[] = [];
  readonly #charsMax: number;
  #chars = 0;

  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  get hasRoom(): boolean {
    return this.#chars < this.#charsMax;
  }

  get chars(): number {
    return this.#chars;
  }

  get text(): string {
    return this.#lines.join("");
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
  }
}
