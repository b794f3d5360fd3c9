/**
 * list: a collection at one revision, in pages or as one stream (S1-COLL, S1-LIST, S1-RV-04..28).
 *
 *   list-start: which state -> list-from-snapshot, or list-from-history where memory no longer holds
 *   that state -> list-body: chunks, at the client's pace
 */
import type { Revision } from "../../../storage/kv/store.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import { continuedMetadata, parseContinueToken } from "../continue-token.js";
import type { ListMetadata } from "../representation.js";
import { openListBody } from "./list-body.js";
import { readHistoricalPage, sendAllFromHistory } from "./list-from-history.js";
import { prepareAll, readPage, refuseCorrupt, sendAll } from "./list-from-snapshot.js";
import { continuation, expiredToken, isExpired, startOf } from "./list-start.js";
import type { Listing, ListServices, Page, Start } from "./listing.js";
import { prepareObjects, remoteOf } from "./prepare.js";
import { parseListOptions } from "./read-options.js";
import { listIdentityOf, selectorOf } from "./resource-read.js";

/** The size above which encodings other than compact JSON and Protobuf are discouraged (S1-NEG-17). */
export const LARGE_LIST_BYTES = 100_000_000;

/** Answers with a collection. @throws {StatusError} 400, 406, 410, 422, 500, 503, 504 */
export async function handleList(
  ctx: RequestContext,
  resource: StoredResource,
  services: ListServices,
): Promise<void> {
  const { info } = ctx.state;
  const representation = services.representations.of(ctx, resource, true);
  const options = parseListOptions(info.query, services.naming);
  const selector = selectorOf(ctx, resource);
  const identity = listIdentityOf(ctx, resource);
  const listing = { ctx, resource, services, representation, selector, identity };

  if (options.continueToken === "") {
    await send(listing, await startOf(listing, options.wanted), options.limit);
    return;
  }
  const token = parseContinueToken(options.continueToken, identity);
  try {
    await send(listing, await continuation(listing, token), options.limit);
  } catch (error) {
    throw isExpired(error) ? expiredToken(token, identity) : error;
  }
}

function send(listing: Listing, start: Start, limit: number): Promise<void> {
  if (start.tree !== undefined) refuseCorrupt(start.tree, listing.selector);
  if (limit > 0) return sendPage(listing, start, limit);
  if (start.tree !== undefined) return sendAll(listing, start, start.tree);
  return sendAllFromHistory(listing, start);
}

async function sendPage(listing: Listing, start: Start, limit: number): Promise<void> {
  const { resource, services, representation, selector } = listing;
  const { revision, tree } = start;
  const isConverted = selector.asksServedFields && remoteOf(resource) !== undefined;
  if (isConverted && tree !== undefined) await prepareAll(listing, start, tree);
  const page =
    tree === undefined
      ? await readHistoricalPage(listing, start, limit)
      : await readPage(listing, tree, start, limit);
  // Later pages find the same state even if the ring has moved on.
  if (page.hasMore && tree !== undefined && services.usesSnapshots !== false) {
    services.reader.view.partition(resource.partition).keep({ revision, tree });
  }
  const preparing = prepareObjects(resource, page.objects, listing.ctx.state);
  if (preparing !== undefined) await preparing;
  let itemsBytes = 0;
  for (const object of page.objects) itemsBytes += representation.itemBytes?.(object) ?? 0;
  const body = openListBody(listing, pageMetadata(listing, page, revision), itemsBytes);
  for (const object of page.objects) {
    body.put(object);
    // One page may be large, because its limit is the client's.
    if (body.isFull && !(await body.flush())) return;
  }
  await body.end();
}

function pageMetadata(
  { selector, identity }: Listing,
  { objects, hasMore, remaining }: Page,
  revision: Revision,
): ListMetadata {
  const resourceVersion = String(revision);
  const last = objects.at(-1);
  if (!hasMore || last === undefined) return { resourceVersion };
  // With a selector, counting the rest would require visiting it (S1-COLL-08).
  const counted = selector.isFiltered ? undefined : remaining;
  return continuedMetadata({ revision, after: last.path, remaining: counted }, identity);
}
