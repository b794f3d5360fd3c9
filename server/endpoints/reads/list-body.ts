/**
 * ListBody: writes the body of a list item by item. Small collections are sent in one piece, larger
 * ones in chunks at the client's pace, so that an answer holds one chunk of memory (S1-NEG-16).
 *
 * Clients that accept gzip get a CompressedListBody.
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { acceptsGzip } from "../../response/compression.js";
import { openSink } from "../../response/response-sink.js";
import { sendBytes } from "../../response/send-bytes.js";
import { ChunkWriter } from "../chunk-writer.js";
import { listPace, PacedStream } from "../paced-stream.js";
import type { ListMetadata } from "../representation.js";
import { LIST_FOOT, objectForm } from "../representations/json-form.js";
import { CompressedListBody } from "./compressed-list-body.js";
import { LargeListCount } from "./large-list-count.js";
import type { ListBody, Listing } from "./listing.js";

/** @param itemsBytes the sum over all items, for representations that state it up front */
export function openListBody(
  listing: Listing,
  metadata: ListMetadata,
  itemsBytes: number,
): ListBody {
  const { ctx, services } = listing;
  const { compression } = services;
  const body =
    compression === undefined || ctx.method === "HEAD" || !acceptsGzip(ctx)
      ? new PlainListBody(listing, metadata, itemsBytes)
      : new CompressedListBody(listing, compression, metadata, itemsBytes);
  return ctx.state.audit?.wantsResponse === true ? audited(body, listing, metadata) : body;
}

/** Records the items for the audit log, as plain objects in every form. */
function audited(body: ListBody, listing: Listing, metadata: ListMetadata): ListBody {
  const { ctx, resource } = listing;
  const objects: StoredObject[] = [];
  ctx.state.audit?.takeResponse(() => {
    const form = objectForm(resource);
    const out = new ChunkWriter();
    out.putText(form.listHead(metadata));
    for (const [index, object] of objects.entries()) {
      if (index > 0) out.putText(",");
      form.putItem(out, object);
    }
    out.putText(LIST_FOOT);
    return out.take();
  });
  return {
    get isFull() {
      return body.isFull;
    },
    put(object) {
      objects.push(object);
      body.put(object);
    },
    flush: () => body.flush(),
    end: () => body.end(),
  };
}

class PlainListBody implements ListBody {
  readonly #listing: Listing;
  readonly #out: ChunkWriter;
  readonly #count: LargeListCount;
  #stream: PacedStream | undefined;
  #isFirst = true;

  constructor(listing: Listing, metadata: ListMetadata, itemsBytes: number) {
    this.#listing = listing;
    this.#out = new ChunkWriter(listing.services.chunks);
    this.#count = new LargeListCount(listing);
    listing.representation.putListHead(this.#out, metadata, itemsBytes);
  }

  get isFull(): boolean {
    return this.#out.isFull;
  }

  put(object: StoredObject): void {
    this.#listing.representation.putItem(this.#out, object, this.#isFirst);
    this.#isFirst = false;
  }

  flush(): Promise<boolean> {
    const { ctx, representation } = this.#listing;
    this.#count.add(this.#out.length);
    const headers = { "Content-Type": representation.contentType };
    this.#stream ??= new PacedStream(openSink(ctx, { status: 200, headers }), listPace(ctx));
    return this.#stream.write(this.#out);
  }

  async end(): Promise<void> {
    const { ctx, representation } = this.#listing;
    representation.putListFoot(this.#out, this.#isFirst);
    if (this.#stream !== undefined) {
      await this.#stream.end(this.#out);
      return;
    }
    sendBytes(ctx, 200, ["Content-Type", representation.contentType], this.#out.take());
    this.#out.release();
  }
}
