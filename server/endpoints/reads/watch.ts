/**
 * watch: a stream of events from a cursor into the ring (S1-WATCH). Sends the initial state if
 * requested, then live events, a bookmark about every minute, and a clean end after the timeout.
 *
 *   open -> [initial events, at the client's pace] -> [initial-events-end bookmark] -> live -> end
 *
 * Beside it: when bookmarks and the end are due (watch-times.ts), the bytes of an event (watch-event.ts), and what a webhook
 * has to convert first (watch-conversion.ts).
 *
 * The watcher is registered in the same turn as the snapshot is taken, before the initial events are
 * sent, so no event is lost between the two.
 */

import type { Logger } from "../../../storage/base/logger.js";
import type { EventType, ObjectEvent } from "../../../storage/cache/event-ring.js";
import { type ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import type { Partition, Snapshot } from "../../../storage/cache/partition.js";
import type { Watcher, WatchScope, WatchSink } from "../../../storage/cache/watcher.js";
import type { Revision } from "../../../storage/kv/store.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";
import { expired, internalError, StatusError, unreadableObjects } from "../../api/status.js";
import { isCurrent } from "../../kinds/catalog.js";
import type { CatalogSource } from "../../kinds/live-catalog.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { LONG_BYTES } from "../../registry/write/long-write.js";
import type { HeldMemory, RequestContext } from "../../request/request-state.js";
import { openSink } from "../../response/response-sink.js";
import { type ResponseSink, SharedChunk } from "../../response/sink.js";
import { watchSocketOptions } from "../../response/web-socket-sink.js";
import { ChunkWriter } from "../chunk-writer.js";
import { listPace, PacedStream } from "../paced-stream.js";
import type { Representation } from "../representation.js";
import type { LargeEvents } from "./large-events.js";
import { PREPARED_MAX, remoteOf } from "./prepare.js";
import { parseWatchOptions, type StreamingLists, type WatchOptions } from "./read-options.js";
import { type ReadServices, selectorOf } from "./resource-read.js";
import { PAUSE, visitInTurns } from "./visit-in-turns.js";
import { endedOf, WatchConversion } from "./watch-conversion.js";
import { longEncoding, sharedEncoding } from "./watch-event.js";
import type { WatchLatency } from "./watch-latency.js";
import type { Tick, WatchTicker } from "./watch-ticker.js";
import { WatchTimes } from "./watch-times.js";

/** A stream whose client does not read cannot end cleanly; it is cut after this time. */
const CUT_AFTER_MS = 10_000;
/** The client's time limit for a chunk of the initial events. */
const CHUNK_PATIENCE_MS = 60_000;
/** A smaller state gets memory of its size: after a break hundreds of watches wait with theirs at once. */
const SMALL_STATE_BYTES = 64 * 1024;

export interface WatchServices extends ReadServices, StreamingLists {
  readonly ticker: WatchTicker;
  readonly largeEvents: LargeEvents;
  /** Lower bound of a watch's random length; it lasts up to twice as long (S1-WATCH-23). */
  readonly minRequestTimeoutMs: number;
  readonly logger: Logger;
  readonly catalog: CatalogSource;
  /** Measures some of the deliveries; absent = none. */
  readonly latency?: WatchLatency;
  /** Keeps a record of what goes out; absent = nobody does. */
  readonly recorder?: WatchRecorder | undefined;
}

export interface WatchRecorder {
  /** @param from the state that the watch begins with */
  opened(ctx: RequestContext, resource: StoredResource, from: Revision): RecordedWatch;
}

/** Must be quick: it is told of every event of a watch. */
export interface RecordedWatch {
  sent(revision: Revision): void;
  closed(): void;
}

/** Answers with a stream of events until the client leaves, the timeout or the server's end. */
export async function handleWatch(
  ctx: RequestContext,
  resource: StoredResource,
  services: WatchServices,
): Promise<void> {
  const { reader, naming } = services;
  const representation = services.representations.of(ctx, resource, true);
  const options = parseWatchOptions(ctx.state.info.query, naming, services);
  const selector = selectorOf(ctx, resource);
  const { wanted } = options;
  // The stream itself waits for a version that does not exist yet (S1-WATCH-15).
  const isPlainResume = wanted.kind === "atLeast" && !options.sendsInitialEvents;
  await reader.reach(isPlainResume ? { kind: "any" } : wanted, ctx.state);
  if (isPlainResume) await reader.view.recall.waitFor(wanted.revision, ctx.state.signal);

  const partition = reader.view.partition(resource.partition);
  const stream = new WatchStream({
    ...{ ctx, resource, partition, representation, selector, options, services },
  });
  const from = wanted.kind === "atLeast" && isPlainResume ? wanted.revision : undefined;
  stream.start(from, (after) => services.recorder?.opened(ctx, resource, after));
}

interface StreamOptions {
  readonly ctx: RequestContext;
  readonly resource: StoredResource;
  readonly partition: Partition;
  readonly representation: Representation;
  readonly selector: Selector;
  readonly options: WatchOptions;
  readonly services: WatchServices;
}

/** One open watch; lives until its response closes. */
class WatchStream implements WatchSink, Tick {
  readonly #sink: ResponseSink;
  readonly resource: StoredResource;
  readonly #representation: Representation;
  readonly #selector: Selector;
  readonly #options: WatchOptions;
  readonly #services: WatchServices;
  /** Holds the flow control seats until the initial events are sent or their reader stalls. */
  readonly #takeSeats: () => () => void;
  /** Waits for the turn of the next chunk of initial events. */
  readonly #turn: () => Promise<void> | undefined;
  /** Ends the turn, and waits for the next one. */
  readonly #nextTurn: () => Promise<void>;
  /** The memory that the initial events hold of the budget for answers. */
  readonly #memory: HeldMemory | undefined;
  readonly #partition: Partition;
  readonly #times: WatchTimes;
  readonly #conversion: WatchConversion | undefined;
  /** Whether events are selected here, as their objects have to be converted first. */
  readonly #selectsLate: boolean;
  /** Counts the events of all the resource's watches. */
  readonly #events: { value: number };
  #watcher: Watcher | undefined;
  #recorded: RecordedWatch | undefined;
  /** Of the large event that is being sent. */
  #releaseEvent: (() => void) | undefined;
  #hasSentEvent = false;
  #isEnding = false;
  /** Set while an event waits for its conversion; no further events are taken, as with a full socket. */
  #isPreparing = false;

  constructor(parts: StreamOptions) {
    const { ctx, resource, partition, representation, selector, options, services } = parts;
    this.#takeSeats = () => ctx.state.takeSeats();
    this.#turn = listPace(ctx).turn;
    this.#nextTurn = () => ctx.state.nextTurn();
    this.#memory = ctx.state.memory;
    this.resource = resource;
    this.#representation = representation;
    this.#selector = selector;
    this.#options = options;
    this.#services = services;
    this.#partition = partition;
    const isConverted = remoteOf(resource) !== undefined;
    this.#conversion = isConverted ? new WatchConversion(resource, partition.ring) : undefined;
    this.#selectsLate = isConverted && selector.asksServedFields;
    this.#events = services.watchEvents(resource);
    const { ticker, minRequestTimeoutMs } = services;
    this.#times = new WatchTimes(ticker.now(), options.timeoutSeconds, minRequestTimeoutMs);
    const contentType = representation.watchContentType;
    this.#sink = openSink(ctx, {
      status: 200,
      headers: { "Content-Type": contentType },
      webSocket: watchSocketOptions(services.naming, contentType),
    });
  }

  /**
   * @param resumeFrom the version to send events after; undefined = the state is sent first
   * @param record begins the record of what goes out
   */
  start(
    resumeFrom: Revision | undefined,
    record: (after: Revision) => RecordedWatch | undefined,
  ): void {
    const partition = this.#partition;
    const snapshot = partition.snapshot();
    const after = resumeFrom ?? snapshot.revision;
    const watcher = partition.watch(
      {
        scope: watchScope(this.#selector, this.resource.strategy.triggerField),
        matches: this.#selectsLate ? inScope(this.#selector) : this.#selector.matches,
        sink: this,
      },
      after,
    );
    if (watcher === undefined) {
      this.#fail(expired(`too old resource version: ${after} (${partition.ring.floor})`));
      return;
    }
    this.#watcher = watcher;
    this.#recorded = record(after);
    this.#sink.onDrain(() => this.#resume());
    this.#sink.onClose(() => {
      this.#conversion?.close();
      watcher.close();
      this.#recorded?.closed();
      this.#releaseEvent?.();
      this.#services.ticker.remove(this);
    });
    this.#services.ticker.add(this);
    // The catalog may have changed while the request waited for its version.
    if (!isCurrent(this.#services.catalog.current, this.resource)) {
      this.end();
      return;
    }
    if (this.#options.sendsInitialEvents) {
      const releaseSeats = this.#takeSeats();
      void this.#sendState(snapshot, releaseSeats).then((isOpen) => {
        releaseSeats();
        this.#memory?.release();
        if (!isOpen) return;
        this.#sink.onDrain(() => this.#resume());
        watcher.resume();
      });
    } else {
      this.#memory?.release();
      watcher.resume();
    }
  }

  send(type: EventType, event: ObjectEvent): boolean {
    if (!this.#selectsLate || event.state.corruption !== undefined) {
      return this.#sendSelected(type, event);
    }
    const states = [event.state, event.previous].filter((state) => state !== undefined);
    const preparing = this.#conversion?.prepare(states);
    if (preparing === undefined) return this.#select(event);
    this.#isPreparing = true;
    void this.#goOn(preparing, () => this.#select(event));
    return false;
  }

  /** What the watcher does for every other selector. */
  #select(event: ObjectEvent): boolean {
    const { state, previous } = event;
    const { matches } = this.#selector;
    const matchedBefore = previous !== undefined && matches(previous);
    const matchesNow = event.type !== "DELETED" && matches(state);
    if (matchesNow) return this.#sendSelected(matchedBefore ? "MODIFIED" : "ADDED", event);
    return matchedBefore ? this.#sendSelected("DELETED", event) : true;
  }

  #sendSelected(type: EventType, event: ObjectEvent): boolean {
    const conversion = this.#conversion;
    const object =
      type !== "DELETED"
        ? event.state
        : (conversion?.ended(event) ?? endedOf(this.resource, event));
    if (object.corruption !== undefined) {
      this.#watcher?.close();
      this.#fail(unreadableObjects([object.path]));
      return false;
    }
    const isLarge = object.length >= LONG_BYTES;
    const preparing =
      conversion?.prepareFrom(event, object) ??
      (isLarge ? this.#services.largeEvents.turn(event.revision) : undefined);
    if (preparing !== undefined) {
      this.#isPreparing = true;
      void this.#goOn(preparing, () => this.#sendReady(type, object, event));
      return false;
    }
    return this.#sendReady(type, object, event);
  }

  /** @param next what waits for the conversion; false = the sink is full, or waits again */
  async #goOn(preparing: Promise<void>, next: () => boolean): Promise<void> {
    try {
      await preparing;
    } catch (error) {
      this.#watcher?.close();
      this.#fail(error instanceof StatusError ? error : internalError(String(error), error));
      return;
    }
    this.#isPreparing = false;
    if (!this.#isEnding && next()) this.#watcher?.resume();
  }

  #resume(): void {
    if (!this.#isPreparing) this.#watcher?.resume();
  }

  #sendReady(type: EventType, object: StoredObject, event: ObjectEvent): boolean {
    this.#events.value++;
    this.#recorded?.sent(event.revision);
    // A table has its columns only in the first event (S1-TABLE-05).
    const isFirst = !this.#hasSentEvent;
    this.#hasSentEvent = true;
    const told = { type, object, event, isFirst };
    const isLong = object.length >= LONG_BYTES && this.#sink.writeLong !== undefined;
    let encoded: SharedChunk | readonly Buffer[];
    try {
      encoded = (isLong ? longEncoding : sharedEncoding)(this.#representation, told);
    } catch (error) {
      this.#logUnshowable(object, error);
      this.#watcher?.close();
      this.#fail(unreadableObjects([object.path]));
      return false;
    }
    const flushed = this.#services.latency?.start(event, this.#times.openedAtMs);
    return encoded instanceof SharedChunk
      ? this.#sink.write(encoded, flushed)
      : this.#sendLong(encoded, flushed);
  }

  #sendLong(parts: readonly Buffer[], flushed: (() => void) | undefined): boolean {
    const release = this.#services.largeEvents.hold(parts, () => this.#sink.destroy());
    this.#releaseEvent = release;
    const sent = () => {
      release();
      flushed?.();
    };
    const hasRoom = this.#sink.writeLong?.(parts, sent) === true;
    // Nobody is told once more that it is closed.
    if (this.#sink.isClosed) release();
    return hasRoom;
  }

  cork(): void {
    this.#sink.cork();
  }

  uncork(): void {
    this.#sink.uncork();
  }

  lost(): void {
    this.#fail(expired("the requested history has been cleared; list again"));
  }

  ended(): void {
    this.end();
  }

  endHere(): void {
    this.#watcher?.endHere();
  }

  finish(): void {
    this.#watcher?.finish();
  }

  /** Called a few times a second: ends the stream on time and sends due bookmarks. */
  tick(nowMs: number): void {
    if (this.#isEnding) return;
    if (nowMs >= this.#times.endsAtMs) {
      this.end();
      return;
    }
    if (!this.#options.allowsBookmarks || !this.#times.isBookmarkDue(nowMs)) return;
    const revision = this.#watcher?.completeRevision;
    if (revision === undefined) return;
    const out = new ChunkWriter();
    this.#putBookmark(out, revision, undefined);
    this.#sink.write(out.take());
    this.#times.bookmarkSent(nowMs);
  }

  /** Ends the stream cleanly; the client resumes elsewhere from its last version. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#watcher?.close();
    this.#sink.end();
    const cut = setTimeout(() => this.#sink.destroy(), CUT_AFTER_MS);
    cut.unref();
    this.#sink.onClose(() => clearTimeout(cut));
  }

  /**
   * Stored bytes are sent as they are, so an object may turn out to have no such form as late as here.
   * There is no request left to answer, and a throw inside the feed's delivery would end the process.
   */
  #logUnshowable({ path }: StoredObject, error: unknown): void {
    const { group, resource } = this.resource;
    const fields = { group, resource, path, err: error };
    this.#services.logger.error(fields, "a stored object cannot be shown to a watch");
  }

  #fail(error: StatusError): void {
    if (this.#isEnding) return;
    const out = new ChunkWriter();
    this.#representation.putError(out, error.status);
    this.#sink.write(out.take());
    this.end();
  }

  /** Sends all objects as ADDED events, then the closing bookmark. Returns false if the client is gone. */
  async #sendState({ tree, revision }: Snapshot, stalled: () => void): Promise<boolean> {
    const pace = { patienceMs: () => CHUNK_PATIENCE_MS, stalled, turn: this.#turn };
    const stream = new PacedStream(this.#sink, pace);
    const { namespace, isFiltered, matches } = this.#selector;
    const { chunks } = this.#services;
    const { bytes } = this.#partition.sizeIn(namespace);
    const out = new ChunkWriter(bytes < SMALL_STATE_BYTES ? undefined : chunks);
    if (this.#conversion !== undefined && !(await this.#prepareState(tree, this.#conversion))) {
      return false;
    }
    let count = 0;
    const isComplete = await visitInTurns(
      { tree, namespace, after: "", nextTurn: this.#nextTurn },
      (object) => {
        if (this.#isEnding) return STOP;
        if (this.#isDue(out)) return PAUSE;
        if (isFiltered && object.corruption === undefined && !matches(object)) return undefined;
        if (!this.#putAdded(out, object)) return STOP;
        count++;
        return undefined;
      },
      () => stream.write(out),
    );
    if (!isComplete || this.#isEnding) return false;
    if (this.#options.marksInitialEventsEnd) {
      if (this.#isDue(out) && !(await stream.write(out))) return false;
      const key = `${this.#services.naming.groupDomain}/initial-events-end`;
      this.#putBookmark(out, revision, { [key]: "true" });
    }
    this.#events.value += count;
    const isOpen = out.length === 0 ? !this.#sink.isClosed : await stream.write(out);
    out.release();
    return isOpen && !this.#isEnding;
  }

  /** Returns false if the conversion failed; the client then has the error. */
  async #prepareState(tree: ObjectTree, conversion: WatchConversion): Promise<boolean> {
    const { namespace, matches } = this.#selector;
    const isAny = this.#selectsLate;
    const objects: StoredObject[] = [];
    await visitInTurns({ tree, namespace, after: "", nextTurn: this.#nextTurn }, (object) => {
      if (object.corruption === undefined && (isAny || matches(object))) objects.push(object);
      return undefined;
    });
    try {
      for (let at = 0; at < objects.length; at += PREPARED_MAX) {
        await conversion.prepare(objects.slice(at, at + PREPARED_MAX));
      }
      return true;
    } catch (error) {
      this.#fail(error instanceof StatusError ? error : internalError(String(error), error));
      return false;
    }
  }

  /** Whether to send the buffered bytes before adding more: a message is one event. */
  #isDue(out: ChunkWriter): boolean {
    return this.#sink.isMessageBased ? out.length > 0 : out.isFull;
  }

  /** Returns false if the object cannot be read or shown, which ends the watch. */
  #putAdded(out: ChunkWriter, object: StoredObject): boolean {
    try {
      if (object.corruption === undefined) {
        this.#representation.putEvent(out, "ADDED", object, !this.#hasSentEvent);
        this.#hasSentEvent = true;
        return true;
      }
    } catch (error) {
      this.#logUnshowable(object, error);
    }
    this.#fail(unreadableObjects([object.path]));
    return false;
  }

  #putBookmark(
    out: ChunkWriter,
    revision: Revision,
    annotations: Record<string, string> | undefined,
  ): void {
    this.#representation.putBookmark(out, {
      resourceVersion: String(revision),
      ...(annotations === undefined ? {} : { annotations }),
    });
  }
}

/** The narrowest scope of the watch index that covers the selector. */
function watchScope(selector: Selector, triggerField: string | undefined): WatchScope {
  const { namespace, name, fixedFields } = selector;
  const trigger = triggerField === undefined ? undefined : fixedFields[triggerField];
  return {
    namespace,
    ...(name === undefined ? {} : { name }),
    ...(trigger === undefined ? {} : { trigger }),
  };
}

/** What can be told without the fields of the object. */
function inScope({ namespace, name }: Selector): (object: StoredObject) => boolean {
  return (object) =>
    (namespace === "" || object.namespace === namespace) &&
    (name === undefined || object.name === name);
}
