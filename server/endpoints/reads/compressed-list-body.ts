/**
 * CompressedListBody: a list for a client that accepts gzip (S1-NEG-18), composed of compressed runs, most
 * of them cached (compressed-runs.ts). Small lists are sent uncompressed, so the beginning is written as
 * text until it is long enough:
 *
 *   plain, text gathers -> [long enough: runs are compressed and sent] -> foot
 *                       -> [ended before: the text is sent]
 */
import type { Steps } from "../../../storage/base/steps.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { GZIP_HEADERS } from "../../response/compression.js";
import {
  deflatePiece,
  GZIP_HEAD,
  GzipMember,
  type GzipPiece,
  storePiece,
} from "../../response/gzip-member.js";
import { openSink } from "../../response/response-sink.js";
import { ChunkWriter } from "../chunk-writer.js";
import { putInTurns, stepwise } from "../long-pieces.js";
import { listPace, PacedStream } from "../paced-stream.js";
import type { ListMetadata } from "../representation.js";
import { sendWritten } from "../send-written.js";
import { RunGatherer } from "./compressed-runs.js";
import { LargeListCount } from "./large-list-count.js";
import type { ListBody, Listing } from "./listing.js";
import type { ListCompression } from "./resource-read.js";

/** Runs waiting for compression at most: some hundred kilobytes of text. */
const WAITING_RUNS_MAX = 8;

export class CompressedListBody implements ListBody {
  readonly #listing: Listing;
  readonly #compression: ListCompression;
  /** The text of the beginning; later of one run at a time. */
  readonly #text: ChunkWriter;
  readonly #out: ChunkWriter;
  readonly #head: Buffer;
  readonly #member = new GzipMember();
  readonly #gatherer = new RunGatherer();
  readonly #count: LargeListCount;
  readonly #epoch: number;
  #waiting: (readonly StoredObject[])[] = [];
  #stream: PacedStream | undefined;
  #isLong = false;
  #isEmpty = true;
  #isFirstRun = true;

  constructor(
    listing: Listing,
    compression: ListCompression,
    metadata: ListMetadata,
    itemsBytes: number,
  ) {
    this.#listing = listing;
    this.#text = new ChunkWriter(listing.services.chunks);
    this.#out = new ChunkWriter(listing.services.chunks);
    this.#compression = compression;
    this.#count = new LargeListCount(listing);
    // After a reload of the view one revision may stand for another state.
    this.#epoch = listing.services.reader.view.reloads;
    listing.representation.putListHead(this.#text, metadata, itemsBytes);
    this.#head = Buffer.from(this.#text.peek());
  }

  get isFull(): boolean {
    return this.#isLong && this.#waiting.length >= WAITING_RUNS_MAX;
  }

  put(object: StoredObject): void {
    const { representation } = this.#listing;
    if (stepwise(representation, object) !== undefined) {
      this.#putLater(object);
      return;
    }
    if (!this.#isLong) {
      representation.putItem(this.#text, object, this.#isEmpty);
      // Compression begins at one chunk of text at the latest, whatever the threshold.
      this.#isLong = this.#text.length >= this.#compression.minBytes || this.#text.isFull;
    }
    this.#isEmpty = false;
    const run = this.#gatherer.add(object);
    if (run !== undefined) this.#waiting.push(run);
  }

  async flush(): Promise<boolean> {
    this.#begin();
    const runs = this.#waiting;
    this.#waiting = [];
    for (const objects of runs) {
      if (!(await this.#putRun(objects))) return false;
    }
    return true;
  }

  async end(): Promise<void> {
    const { ctx, representation } = this.#listing;
    if (!this.#isLong) {
      representation.putListFoot(this.#text, this.#isEmpty);
      sendWritten(ctx, ["Content-Type", representation.contentType], this.#text);
      this.#out.release();
      return;
    }
    const rest = this.#gatherer.take();
    if (rest.length > 0) this.#waiting.push(rest);
    if (!(await this.flush())) return;
    this.#text.reset();
    representation.putListFoot(this.#text, this.#isEmpty);
    this.#put(storePiece(this.#text.peek()));
    this.#text.release();
    this.#putBytes(this.#member.end());
    if (this.#stream !== undefined) {
      await this.#stream.end(this.#out);
      return;
    }
    const headers = ["Content-Type", representation.contentType, ...GZIP_HEADERS];
    sendWritten(ctx, headers, this.#out);
  }

  /** Writes the head of the file and of the list, once. */
  #begin(): void {
    if (this.#member.bytes > 0) return;
    this.#putBytes(GZIP_HEAD);
    this.#put(storePiece(this.#head));
  }

  /** Returns false if the client is gone. */
  async #putRun(objects: readonly StoredObject[]): Promise<boolean> {
    const { representation } = this.#listing;
    const [only] = objects;
    const long = only === undefined ? undefined : stepwise(representation, only);
    if (only !== undefined && long !== undefined) {
      this.#text.reset();
      const steps = long.putItem(this.#text, only, this.#isFirstRun);
      this.#isFirstRun = false;
      return await this.#putLong(steps);
    }
    const run = { representation, objects, isFirst: this.#isFirstRun };
    this.#isFirstRun = false;
    const made = this.#compression.runs.get(run, this.#epoch, this.#text);
    // Runs are nearly always cached; skipping the await saves a promise.
    const piece = made instanceof Promise ? await made : made;
    return await this.#putPiece(piece);
  }

  /** Returns false if the client is gone. */
  async #putPiece(piece: GzipPiece): Promise<boolean> {
    const fits = this.#out.length === 0 || this.#out.hasRoomFor(piece.deflated.length);
    if (!fits && !(await this.#send())) return false;
    this.#put(piece);
    return this.#out.isFull ? await this.#send() : true;
  }

  /** A long object is a run of its own, which is made in turns and sent as it is made. */
  #putLater(object: StoredObject): void {
    const before = this.#gatherer.take();
    if (before.length > 0) this.#waiting.push(before);
    this.#waiting.push([object]);
    this.#isLong = true;
    this.#isEmpty = false;
  }

  async #putLong(steps: Steps<void>): Promise<boolean> {
    const text = this.#text;
    const { state } = this.#listing.ctx;
    const send = async () => {
      const piece = await deflatePiece(text.peek());
      text.reset();
      return await this.#putPiece(piece);
    };
    const rest = () => (text.isFull ? send() : state.nextTurn().then(() => true));
    return (await putInTurns(steps, () => text.isFull, rest)) && (await send());
  }

  #put(piece: GzipPiece): void {
    this.#member.add(piece);
    this.#count.add(piece.bytes);
    this.#putBytes(piece.deflated);
  }

  #putBytes(bytes: Buffer): void {
    this.#out.putBytes(bytes, 0, bytes.length);
  }

  #send(): Promise<boolean> {
    const { ctx, representation } = this.#listing;
    if (this.#stream === undefined) {
      const headers: Record<string, string> = { "Content-Type": representation.contentType };
      for (let i = 0; i < GZIP_HEADERS.length; i += 2) {
        headers[GZIP_HEADERS[i] as string] = GZIP_HEADERS[i + 1] as string;
      }
      this.#stream = new PacedStream(openSink(ctx, { status: 200, headers }), listPace(ctx));
    }
    return this.#stream.write(this.#out);
  }
}
