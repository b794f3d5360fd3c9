/**
 * ListBody: writes the body of a list item by item. Small collections are sent in one piece, larger
 * ones in chunks at the client's pace, so that an answer holds one chunk of memory (S1-NEG-16).
 *
 * Clients that accept gzip get a CompressedListBody.
 */
import type { Steps } from "../../../storage/base/steps.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { acceptsGzip } from "../../response/compression.js";
import { openSink } from "../../response/response-sink.js";
import { ChunkWriter } from "../chunk-writer.js";
import { putInTurns, stepwise } from "../long-pieces.js";
import { listPace, PacedStream } from "../paced-stream.js";
import type { ListMetadata } from "../representation.js";
import { LIST_FOOT, objectForm } from "../representations/json-form.js";
import { sendWritten } from "../send-written.js";
import { CompressedListBody } from "./compressed-list-body.js";
import { LargeListCount } from "./large-list-count.js";
import type { ListBody, Listing, ListOutput } from "./listing.js";

/** @param itemsBytes the sum over all items, for representations that state it up front */
export function openListBody(
  listing: Listing,
  metadata: ListMetadata,
  itemsBytes: number,
): ListBody {
  const { ctx, services } = listing;
  const { compression } = services;
  if (compression === undefined || ctx.method === "HEAD" || !acceptsGzip(ctx)) {
    return openPlainListBody(listing, metadata, itemsBytes);
  }
  const body = new CompressedListBody(listing, compression, metadata, itemsBytes);
  return audited(body, listing, metadata);
}

/** The same without compression, whatever the client accepts. */
export function openPlainListBody(
  output: ListOutput,
  metadata: ListMetadata,
  itemsBytes: number,
): ListBody {
  return audited(new PlainListBody(output, metadata, itemsBytes), output, metadata);
}

/** The whole list as plain objects in JSON. */
export function listDocument(
  resource: StoredResource,
  metadata: ListMetadata,
  objects: readonly StoredObject[],
): Buffer {
  const form = objectForm(resource);
  const out = new ChunkWriter();
  out.putText(form.listHead(metadata));
  for (const [index, object] of objects.entries()) {
    if (index > 0) out.putText(",");
    form.putItem(out, object);
  }
  out.putText(LIST_FOOT);
  return out.take();
}

/** Records the items for the audit log if it wants them, as plain objects in every form. */
function audited(body: ListBody, { ctx, resource }: ListOutput, metadata: ListMetadata): ListBody {
  const { audit } = ctx.state;
  if (audit?.wantsResponse !== true) return body;
  const objects: StoredObject[] = [];
  audit.takeResponse(() => listDocument(resource, metadata, objects));
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
  readonly #output: ListOutput;
  readonly #out: ChunkWriter;
  readonly #count: LargeListCount;
  #stream: PacedStream | undefined;
  #isFirst = true;
  /** Write the last object, which is long. */
  #steps: Steps<void> | undefined;

  constructor(output: ListOutput, metadata: ListMetadata, itemsBytes: number) {
    this.#output = output;
    this.#out = new ChunkWriter(output.services.chunks);
    this.#count = new LargeListCount(output);
    output.representation.putListHead(this.#out, metadata, itemsBytes);
  }

  get isFull(): boolean {
    return this.#steps !== undefined || this.#out.isFull;
  }

  put(object: StoredObject): void {
    const { representation } = this.#output;
    this.#steps = stepwise(representation, object)?.putItem(this.#out, object, this.#isFirst);
    if (this.#steps === undefined) representation.putItem(this.#out, object, this.#isFirst);
    this.#isFirst = false;
  }

  async flush(): Promise<boolean> {
    const steps = this.#steps;
    this.#steps = undefined;
    const { state } = this.#output.ctx;
    const rest = () => (this.#out.isFull ? this.#send() : state.nextTurn().then(() => true));
    const isFull = () => this.#out.isFull;
    if (steps !== undefined && !(await putInTurns(steps, isFull, rest))) return false;
    return steps === undefined || this.#out.isFull ? await this.#send() : true;
  }

  #send(): Promise<boolean> {
    const { ctx, representation } = this.#output;
    this.#count.add(this.#out.length);
    const headers = { "Content-Type": representation.contentType };
    this.#stream ??= new PacedStream(openSink(ctx, { status: 200, headers }), listPace(ctx));
    return this.#stream.write(this.#out);
  }

  async end(): Promise<void> {
    const { ctx, representation } = this.#output;
    if (this.#steps !== undefined && !(await this.flush())) return;
    representation.putListFoot(this.#out, this.#isFirst);
    if (this.#stream !== undefined) {
      await this.#stream.end(this.#out);
      return;
    }
    sendWritten(ctx, ["Content-Type", representation.contentType], this.#out);
  }
}
