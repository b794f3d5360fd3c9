/**
 * ListBody: the body of a list, item by item. Small collections go out as one piece, larger ones in
 * chunks at the client's pace, so that memory holds one chunk of an answer (S1-NEG-16).
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { openCompressedSink, sendCompressed } from "../../response/compression.js";
import { ChunkWriter } from "../chunk-writer.js";
import { PacedStream } from "../paced-stream.js";
import type { ListMetadata, Representation } from "../representation.js";
import type { Listing } from "./listing.js";

export class ListBody {
  readonly #listing: Listing;
  readonly #representation: Representation;
  readonly #out = new ChunkWriter();
  #stream: PacedStream | undefined;
  #isFirst = true;
  /** Sent so far, where a large list is to be counted. */
  #bytes = 0;

  constructor(listing: Listing, metadata: ListMetadata, itemsBytes: number) {
    this.#listing = listing;
    this.#representation = listing.representation;
    this.#representation.putListHead(this.#out, metadata, itemsBytes);
  }

  /** Whether it is time to flush. */
  get isFull(): boolean {
    return this.#out.isFull;
  }

  put(object: StoredObject): void {
    this.#representation.putItem(this.#out, object, this.#isFirst);
    this.#isFirst = false;
  }

  /** Sends what has gathered. False: the client is gone. */
  flush(): Promise<boolean> {
    const { ctx, representation, services } = this.#listing;
    const head = { status: 200, headers: { "Content-Type": representation.contentType } };
    this.#countIfLarge();
    this.#stream ??= new PacedStream(openCompressedSink(ctx, head, services.compression));
    return this.#stream.write(this.#out);
  }

  async end(): Promise<void> {
    const { ctx, representation, services } = this.#listing;
    representation.putListFoot(this.#out, this.#isFirst);
    if (this.#stream !== undefined) {
      this.#stream.end(this.#out);
      return;
    }
    const headers = ["Content-Type", representation.contentType];
    await sendCompressed(ctx, 200, headers, this.#out.take(), services.compression);
  }

  #countIfLarge(): void {
    const { costlyEncoding } = this.#listing.representation;
    const { largeLists } = this.#listing.services;
    if (costlyEncoding === undefined || largeLists === undefined) return;
    const before = this.#bytes;
    this.#bytes += this.#out.length;
    const isNowLarge = before <= largeLists.bytes && this.#bytes > largeLists.bytes;
    if (isNowLarge) largeLists.count(costlyEncoding);
  }
}
