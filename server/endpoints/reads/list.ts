/**
 * list: a collection from a snapshot of the view, in pages or in one stream (S1-COLL, S1-LIST,
 * S1-RV-04..28). Items are copied from the view's bytes into chunks; the client's pace decides when
 * the next chunk is filled.
 */
import type { ObjectTree } from "../../../storage/cache/object-tree.js";
import { STOP } from "../../../storage/cache/object-tree.js";
import type { Partition, Snapshot } from "../../../storage/cache/partition.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";
import { expired, StatusError } from "../../api/status.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import { openSink } from "../../request/response-sink.js";
import { sendBytes } from "../../request/send-bytes.js";
import { ChunkWriter } from "../chunk-writer.js";
import { formatContinueToken, type ListIdentity, parseContinueToken } from "../continue-token.js";
import { PacedStream } from "../paced-stream.js";
import type { ListMetadata, Representation } from "../representation.js";
import type { HistoricalReader } from "./historical-reader.js";
import { parseListOptions, type Wanted } from "./read-options.js";
import { namespaceOf, type ReadServices, selectorOf } from "./resource-read.js";

const COMMA = 0x2c;

/** Where a list starts: a state, and the object after which it goes on. */
interface Start {
  readonly snapshot: Snapshot;
  readonly after: string;
}

/** Answers with a collection. @throws {StatusError} 400, 406, 410, 422, 500, 503, 504 */
export async function handleList(
  ctx: RequestContext,
  resource: ServedResource,
  services: ReadServices & { readonly history: HistoricalReader },
): Promise<void> {
  const { info } = ctx.state;
  const representation = services.representations.of(ctx, resource, true);
  const options = parseListOptions(info.query, services.naming);
  const selector = selectorOf(ctx, resource);
  const identity: ListIdentity = {
    group: resource.group,
    resource: resource.resource,
    namespace: namespaceOf(ctx, resource),
    labelSelector: info.query.get("labelSelector") ?? "",
    fieldSelector: info.query.get("fieldSelector") ?? "",
  };

  const { snapshot, after } =
    options.continueToken === ""
      ? await startOf(options.wanted, resource, services, ctx)
      : await continuation(options.continueToken, identity, resource, services, ctx);
  const partition = services.reader.view.partition(resource.partition);
  refuseCorrupt(partition, selector);

  if (options.limit === 0) {
    const metadata = { resourceVersion: String(snapshot.revision) };
    await sendAll(ctx, representation, metadata, snapshot.tree, selector, after);
    return;
  }
  const page = readPage(snapshot.tree, selector, after, options.limit);
  // Pages that follow find the same state, also when the ring has moved on meanwhile.
  if (page.hasMore) partition.keep(snapshot);
  const metadata = pageMetadata(page, snapshot, selector, identity);
  sendPage(ctx, representation, metadata, page.objects);
}

async function startOf(
  wanted: Wanted,
  resource: ServedResource,
  { reader, history }: ReadServices & { readonly history: HistoricalReader },
  ctx: RequestContext,
): Promise<Start> {
  await reader.reach(wanted);
  const partition = reader.view.partition(resource.partition);
  if (wanted.kind !== "exact") return { snapshot: partition.snapshot(), after: "" };
  const snapshot =
    partition.snapshotAt(wanted.revision) ??
    (await history.snapshotAt(resource, wanted.revision, ctx.state.signal));
  return { snapshot, after: "" };
}

async function continuation(
  text: string,
  identity: ListIdentity,
  resource: ServedResource,
  { reader, history }: ReadServices & { readonly history: HistoricalReader },
  ctx: RequestContext,
): Promise<Start> {
  const { revision, after } = parseContinueToken(text, identity);
  if (revision === -1) {
    await reader.reach({ kind: "mostRecent" });
    return { snapshot: reader.view.partition(resource.partition).snapshot(), after };
  }
  await reader.reach({ kind: "atLeast", revision });
  const known = reader.view.partition(resource.partition).snapshotAt(revision);
  if (known !== undefined) return { snapshot: known, after };
  try {
    return { snapshot: await history.snapshotAt(resource, revision, ctx.state.signal), after };
  } catch (error) {
    if (error instanceof StatusError && error.code === 410) {
      // The client may finish its list at a newer version, at the price of consistency (S1-LIST-07).
      const message =
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
      throw expired(message, formatContinueToken({ revision: -1, after }, identity));
    }
    throw error;
  }
}

/** A list never leaves out what cannot be read as if it were not there (S1-UNS-11). */
function refuseCorrupt(partition: Partition, selector: Selector): void {
  if (partition.corrupt.size === 0) return;
  const paths = [...partition.corrupt].filter(
    (path) => selector.namespace === "" || path.startsWith(`${selector.namespace}/`),
  );
  if (paths.length === 0) return;
  const message = "failed to read one or more objects from storage";
  throw new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: "StoreReadError",
    details: {
      causes: paths.slice(0, CORRUPT_CAUSES_MAX).map((path) => ({
        reason: "UnexpectedServerResponse",
        message: `the stored object at ${JSON.stringify(path)} cannot be read`,
        field: path,
      })),
    },
    code: 500,
  });
}

/** As many keys as a person looks at. */
const CORRUPT_CAUSES_MAX = 100;

interface Page {
  readonly objects: readonly StoredObject[];
  readonly hasMore: boolean;
  /** Objects behind the page, whatever the selector. */
  readonly remaining: number;
}

function readPage(tree: ObjectTree, selector: Selector, after: string, limit: number): Page {
  const objects: StoredObject[] = [];
  let hasMore = false;
  tree.visit(selector.namespace, after, (object) => {
    if (selector.isFiltered && !selector.matches(object)) return undefined;
    if (objects.length === limit) {
      hasMore = true;
      return STOP;
    }
    objects.push(object);
    return undefined;
  });
  const last = objects.at(-1);
  const remaining = hasMore && last !== undefined ? tree.count(selector.namespace, last.path) : 0;
  return { objects, hasMore, remaining };
}

function pageMetadata(
  { objects, hasMore, remaining }: Page,
  { revision }: Snapshot,
  selector: Selector,
  identity: ListIdentity,
): ListMetadata {
  const resourceVersion = String(revision);
  const last = objects.at(-1);
  if (!hasMore || last === undefined) return { resourceVersion };
  const token = formatContinueToken({ revision, after: last.path }, identity);
  // With a selector the rest could only be counted by looking at it (S1-COLL-08).
  return selector.isFiltered
    ? { resourceVersion, continue: token }
    : { resourceVersion, continue: token, remainingItemCount: remaining };
}

function sendPage(
  ctx: RequestContext,
  representation: Representation,
  metadata: ListMetadata,
  objects: readonly StoredObject[],
): void {
  const out = new ChunkWriter();
  out.putText(representation.listHead(metadata));
  for (const [index, object] of objects.entries()) {
    if (index > 0) out.putByte(COMMA);
    representation.putItem(out, object);
  }
  out.putText(representation.listFoot);
  sendBytes(ctx, 200, ["Content-Type", representation.contentType], out.take());
}

/** Small collections go out as one body, larger ones as a stream of chunks. */
async function sendAll(
  ctx: RequestContext,
  representation: Representation,
  metadata: ListMetadata,
  tree: ObjectTree,
  selector: Selector,
  start: string,
): Promise<void> {
  const out = new ChunkWriter();
  out.putText(representation.listHead(metadata));
  let stream: PacedStream | undefined;
  let after = start;
  let isFirst = true;
  for (;;) {
    let isComplete = true;
    tree.visit(selector.namespace, after, (object) => {
      if (out.isFull) {
        isComplete = false;
        return STOP;
      }
      after = object.path;
      if (selector.isFiltered && !selector.matches(object)) return undefined;
      if (!isFirst) out.putByte(COMMA);
      isFirst = false;
      representation.putItem(out, object);
      return undefined;
    });
    if (isComplete) break;
    stream ??= new PacedStream(
      openSink(ctx, { status: 200, headers: { "Content-Type": representation.contentType } }),
    );
    if (!(await stream.write(out))) return;
  }
  out.putText(representation.listFoot);
  if (stream !== undefined) stream.end(out);
  else sendBytes(ctx, 200, ["Content-Type", representation.contentType], out.take());
}
