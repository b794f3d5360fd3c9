/**
 * EventLog: committed events by revision, for watches. The latest ones are kept in memory until all
 * watches have them, bounded by number and bytes; others are read back from the log and history
 * tables, so that a watch that is far behind costs no memory however long it takes.
 */
import { assert } from "../base/assert.js";
import { StorageError } from "../kv/errors.js";
import type { Revision, StoreEvent } from "../kv/store.js";
import { compactedOfSnapshot, damaged, type StoreDatabase } from "./database.js";
import type { RevisionEvents } from "./group-plan.js";
import { decodeLog, type LogEntry } from "./records.js";
import { versionAt } from "./versions.js";

/** Bound of the memory: about a second of heavy writing. */
const RECENT_REVISIONS_MAX = 4096;
const RECENT_BYTES_MAX = 8 * 1024 * 1024;
/** Bounds of one batch, so that reading it takes a few milliseconds and its consumer gets a turn. */
const BATCH_EVENTS_MAX = 1000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Revisions examined in one turn when few of them concern the watch. */
const SCANNED_REVISIONS_MAX = 5000;

export interface EventSelection {
  readonly prefix: string;
  readonly withPrevious: boolean;
  /** The prefix of keys that are left out. */
  readonly unwanted: string | undefined;
}

function isWanted(key: string, { prefix, unwanted }: EventSelection): boolean {
  return key.startsWith(prefix) && (unwanted === undefined || !key.startsWith(unwanted));
}

export interface SelectedEvents {
  readonly events: readonly StoreEvent[];
  /** All events up to and including this revision have been examined. */
  readonly revision: Revision;
}

export class EventLog {
  readonly #database: StoreDatabase;
  /** Consecutive revisions: every key from the oldest to `#head` is there. */
  readonly #recent = new Map<number, RevisionEvents>();
  #recentBytes = 0;
  #oldestRecent: number;
  #head: Revision;

  constructor(database: StoreDatabase, head: Revision) {
    this.#database = database;
    this.#head = head;
    this.#oldestRecent = head + 1;
  }

  /** The last revision that watches may see. */
  get head(): Revision {
    return this.#head;
  }

  append(revisions: readonly RevisionEvents[]): void {
    for (const events of revisions) {
      assert(events.revision > this.#head, "LogMovesOn");
      if (events.revision !== this.#head + 1) this.forgetRecent(events.revision - 1);
      this.#recent.set(events.revision, events);
      this.#recentBytes += events.bytes;
      this.#head = events.revision;
    }
    assert(this.#recent.size === this.#head - this.#oldestRecent + 1, "RecentIsUnbroken");
    while (this.#recent.size > RECENT_REVISIONS_MAX || this.#recentBytes > RECENT_BYTES_MAX) {
      this.#dropOldest();
    }
  }

  /**
   * Drops revisions from memory: compacted ones, so that a watch that needs them ends wherever they are, and
   * those that no watch waits for.
   */
  forgetBefore(revision: number): void {
    while (this.#recent.size > 0 && this.#oldestRecent < revision) this.#dropOldest();
  }

  #dropOldest(): void {
    this.#recentBytes -= this.#recent.get(this.#oldestRecent)?.bytes ?? 0;
    this.#recent.delete(this.#oldestRecent++);
  }

  /** Continues from `head` with an empty memory: watches read from the disk. */
  forgetRecent(head: number): void {
    this.#recent.clear();
    this.#recentBytes = 0;
    this.#head = head as Revision;
    this.#oldestRecent = head + 1;
  }

  /**
   * Selected events strictly after `after`, never beyond `head`, never half of a revision, and not
   * more than one batch. @throws {StorageError} Compacted
   */
  read(after: Revision, selection: EventSelection): SelectedEvents {
    return after + 1 >= this.#oldestRecent
      ? this.#readRecent(after, selection)
      : this.#readStored(after, selection);
  }

  #readRecent(after: Revision, selection: EventSelection): SelectedEvents {
    const batch = new BatchBuilder(after);
    while (batch.revision < this.#head && !batch.isFull) {
      const next = this.#recent.get(batch.revision + 1);
      if (next === undefined) throw damaged(`revision ${batch.revision + 1} is missing`);
      const events = selection.withPrevious ? next.withPrevious : next.plain;
      for (const event of events) if (isWanted(keyOf(event), selection)) batch.add(event);
      batch.endRevision(next.revision);
    }
    return batch;
  }

  #readStored(after: Revision, selection: EventSelection): SelectedEvents {
    const compacted = compactedOfSnapshot(this.#database);
    if (after + 1 < compacted) {
      throw new StorageError(
        "Compacted",
        `events after ${after} are compacted up to ${compacted}`,
        {
          compactedTo: compacted,
        },
      );
    }
    const batch = new BatchBuilder(after);
    const records = this.#database.log.getRange({ start: after + 1, end: this.#head + 1 });
    for (const { key: revision, value } of records) {
      for (const entry of this.#entriesOf(revision, value)) {
        if (isWanted(entry.key, selection)) {
          batch.add(this.#storedEvent(revision, entry, selection.withPrevious));
        }
      }
      batch.endRevision(revision as Revision);
      if (batch.isFull) return batch;
    }
    batch.endRevision(this.#head);
    return batch;
  }

  #storedEvent(revision: number, entry: LogEntry, withPrevious: boolean): StoreEvent {
    const { type, key, previousMod } = entry;
    const event: StoreEvent =
      type === "put"
        ? { type, kv: versionAt(this.#database, key, revision) ?? missing(key, revision) }
        : { type, key, modRevision: revision as Revision };
    if (!withPrevious || previousMod === 0) return event;
    // The previous version may be compacted although its end is not: then there is no `previous`.
    const previous = versionAt(this.#database, key, previousMod);
    return previous === undefined ? event : { ...event, previous };
  }

  /** @throws {StorageError} Compacted: nobody knows what happened at a revision whose record is damaged */
  #entriesOf(revision: number, record: Buffer): readonly LogEntry[] {
    const entries = decodeLog(revision, record);
    if (entries !== undefined) return entries;
    this.#database.damage.note("log", String(revision));
    const text = `the record of revision ${revision} is damaged`;
    throw new StorageError("Compacted", text, { compactedTo: revision });
  }
}

function missing(key: string, revision: number): never {
  throw damaged(`${key} has no version of revision ${revision}`);
}

function keyOf(event: StoreEvent): string {
  return event.type === "put" ? event.kv.key : event.key;
}

/** Gathers events until the batch is large enough or enough revisions have been examined. */
class BatchBuilder implements SelectedEvents {
  readonly events: StoreEvent[] = [];
  #revision: Revision;
  #bytes = 0;
  #revisions = 0;

  constructor(after: Revision) {
    this.#revision = after;
  }

  get revision(): Revision {
    return this.#revision;
  }

  get isFull(): boolean {
    return (
      this.events.length >= BATCH_EVENTS_MAX ||
      this.#bytes >= BATCH_BYTES_MAX ||
      this.#revisions >= SCANNED_REVISIONS_MAX
    );
  }

  add(event: StoreEvent): void {
    this.events.push(event);
    if (event.type === "put") this.#bytes += event.kv.value.length;
  }

  endRevision(revision: Revision): void {
    this.#revision = revision;
    this.#revisions++;
  }
}
