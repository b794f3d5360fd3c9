/**
 * Lists from the store's history, for a revision that memory no longer holds (S1-RV-26..28): a page of
 * the store at a time, so that memory holds no more of it than is being sent.
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { unreadableObjects } from "./corrupt-objects.js";
import { ListBody } from "./list-body.js";
import type { Listing, Page, Start } from "./listing.js";

/** @param limit more than zero @throws {StatusError} 410, 500, 503 */
export async function readHistoricalPage(
  listing: Listing,
  start: Start,
  limit: number,
): Promise<Page> {
  const { ctx, resource, services, selector } = listing;
  const { namespace } = selector;
  const { revision } = start;
  const objects: StoredObject[] = [];
  let { after } = start;
  for (;;) {
    const missing = selector.isFiltered ? 0 : limit - objects.length;
    const range = { resource, namespace, after, revision, limit: missing };
    const page = await services.history.page(range, ctx.state.signal);
    refuseUnreadable(page.objects);
    for (const [index, object] of page.objects.entries()) {
      if (!selector.matches(object)) continue;
      objects.push(object);
      if (objects.length < limit) continue;
      const remaining = page.remaining + page.objects.length - index - 1;
      // With a selector nobody knows whether one more matches: the next page may be empty.
      return { objects, hasMore: remaining > 0, remaining };
    }
    after = page.objects.at(-1)?.path ?? after;
    if (!page.hasMore || page.objects.length === 0) {
      return { objects, hasMore: false, remaining: 0 };
    }
  }
}

/** Sends all that is left. @throws {StatusError} 410, 500, 503 before the first chunk */
export async function sendAllFromHistory(listing: Listing, start: Start): Promise<void> {
  const { representation } = listing;
  let itemsBytes = 0;
  // History does not change: reading it twice costs time, keeping it all would cost memory.
  if (representation.itemBytes !== undefined) {
    for await (const object of historicalObjects(listing, start)) {
      itemsBytes += representation.itemBytes(object);
    }
  }
  const body = new ListBody(listing, { resourceVersion: String(start.revision) }, itemsBytes);
  // What fails after the first chunk cuts the answer, so that nobody takes it for complete.
  for await (const object of historicalObjects(listing, start)) {
    body.put(object);
    if (body.isFull && !(await body.flush())) return;
  }
  await body.end();
}

async function* historicalObjects(
  { ctx, resource, services, selector }: Listing,
  start: Start,
): AsyncGenerator<StoredObject> {
  const { namespace } = selector;
  const { revision } = start;
  let { after } = start;
  for (;;) {
    const range = { resource, namespace, after, revision, limit: 0 };
    const page = await services.history.page(range, ctx.state.signal);
    refuseUnreadable(page.objects);
    for (const object of page.objects) {
      if (selector.matches(object)) yield object;
    }
    after = page.objects.at(-1)?.path ?? after;
    if (!page.hasMore || page.objects.length === 0) return;
  }
}

function refuseUnreadable(objects: readonly StoredObject[]): void {
  const corrupt = objects.filter(({ corruption }) => corruption !== undefined);
  if (corrupt.length > 0) throw unreadableObjects(corrupt.map(({ path }) => path));
}
