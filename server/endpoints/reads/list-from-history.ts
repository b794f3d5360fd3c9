/**
 * Lists from the store's history, for a revision that memory no longer holds (S1-RV-26..28). They are read
 * page by page, so memory holds only what is being sent.
 */

import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { unreadableObjects } from "../../api/status.js";
import type { HistoricalPage } from "./historical-reader.js";
import { openListBody } from "./list-body.js";
import type { Listing, Page, Start } from "./listing.js";
import { prepareObjects } from "./prepare.js";

/** The objects themselves and their share of chunks. */
const HELD_PER_BYTE = 2;

/** @param limit more than zero @throws {StatusError} 410, 500, 503 */
export async function readHistoricalPage(
  listing: Listing,
  start: Start,
  limit: number,
): Promise<Page> {
  const { selector } = listing;
  const objects: StoredObject[] = [];
  const missing = () => (selector.isFiltered ? 0 : limit - objects.length);
  for await (const page of storePages(listing, start, missing)) {
    for (const [index, object] of page.objects.entries()) {
      if (!selector.matches(object)) continue;
      objects.push(object);
      if (objects.length < limit) continue;
      const remaining = page.remaining + page.objects.length - index - 1;
      // With a selector it is unknown whether another object matches: the next page may be empty.
      holdObjects(listing, objects);
      return { objects, hasMore: remaining > 0, remaining };
    }
    holdObjects(listing, objects);
  }
  return { objects, hasMore: false, remaining: 0 };
}

/** Sends all remaining objects. @throws {StatusError} 410, 500, 503 before the first chunk */
export async function sendAllFromHistory(listing: Listing, start: Start): Promise<void> {
  const { selector } = listing;
  const resourceVersion = String(start.revision);
  const body = openListBody(listing, { resourceVersion }, await sumOfItems(listing, start));
  // An error after the first chunk aborts the answer, so that no client takes it for complete.
  for await (const { objects } of storePages(listing, start, () => 0)) {
    holdObjects(listing, objects);
    for (const object of objects) {
      if (!selector.matches(object)) continue;
      body.put(object);
      if (body.isFull && !(await body.flush())) return;
    }
  }
  await body.end();
}

/** History is immutable: reading it twice costs time, keeping it all would cost memory. */
async function sumOfItems(listing: Listing, start: Start): Promise<number> {
  const { representation, selector } = listing;
  if (representation.itemBytes === undefined) return 0;
  let sum = 0;
  for await (const { objects } of storePages(listing, start, () => 0)) {
    for (const object of objects) {
      if (selector.matches(object)) sum += representation.itemBytes(object);
    }
  }
  return sum;
}

/** @param objectsMax the size limit of the next page; 0 = the size of one read */
async function* storePages(
  { ctx, resource, services, selector }: Listing,
  start: Start,
  objectsMax: () => number,
): AsyncGenerator<HistoricalPage> {
  const { namespace } = selector;
  const { revision } = start;
  let { after } = start;
  for (;;) {
    const range = { resource, namespace, after, revision, limit: objectsMax() };
    const page = await services.history.page(range, ctx.state.signal);
    refuseUnreadable(page.objects);
    const preparing = prepareObjects(resource, page.objects, ctx.state);
    if (preparing !== undefined) await preparing;
    yield page;
    after = page.objects.at(-1)?.path ?? after;
    if (!page.hasMore || page.objects.length === 0) return;
  }
}

/** The view does not hold these objects, so they count in addition to the bytes being sent. */
function holdObjects({ ctx }: Listing, objects: readonly StoredObject[]): void {
  ctx.state.memory?.resize(HELD_PER_BYTE * objects.reduce((sum, { length }) => sum + length, 0));
}

function refuseUnreadable(objects: readonly StoredObject[]): void {
  const corrupt = objects.filter(({ corruption }) => corruption !== undefined);
  if (corrupt.length > 0) throw unreadableObjects(corrupt.map(({ path }) => path));
}
