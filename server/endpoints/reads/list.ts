/**
 * list: a collection at one revision, in pages or in one stream (S1-COLL, S1-LIST, S1-RV-04..28).
 * It comes from a snapshot of the view, whose bytes are copied into chunks, or, for a revision that
 * memory no longer holds, from the store's history; the client's pace decides when the next chunk is
 * filled.
 */
import { type ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import type { Revision } from "../../../storage/kv/store.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";
import { expired, StatusError } from "../../api/status.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import {
  type ContinueToken,
  formatContinueToken,
  type ListIdentity,
  parseContinueToken,
} from "../continue-token.js";
import type { ListMetadata } from "../representation.js";
import { unreadableObjects } from "./corrupt-objects.js";
import { ListBody } from "./list-body.js";
import type { Listing, ListServices, Start } from "./listing.js";
import { parseListOptions, type Wanted } from "./read-options.js";
import { namespaceOf, selectorOf } from "./resource-read.js";

/** Objects looked at in one turn where a selector leaves most of them out: a few milliseconds. */
const VISITS_MAX = 10_000;
/** Objects encoded in one turn, only to know their sizes: a few milliseconds. */
const SIZES_MAX = 500;

/** Where lists in other encodings than compact JSON and Protobuf are no longer recommended (S1-NEG-17). */
export const LARGE_LIST_BYTES = 100_000_000;

/** Answers with a collection. @throws {StatusError} 400, 406, 410, 422, 500, 503, 504 */
export async function handleList(
  ctx: RequestContext,
  resource: ServedResource,
  services: ListServices,
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

async function startOf(listing: Listing, wanted: Wanted): Promise<Start> {
  const { ctx, resource, services } = listing;
  const { reader } = services;
  await reader.reach(wanted, ctx.state);
  const partition = reader.view.partition(resource.partition);
  if (wanted.kind === "exact") return stateAt(listing, wanted.revision);
  const { revision, tree } = partition.snapshot();
  return { revision, tree, after: "", remaining: undefined };
}

/** The state at an exact revision, from memory if possible. */
function stateAt({ resource, services }: Listing, revision: Revision): Start {
  const { reader, history, usesSnapshots = true } = services;
  const partition = reader.view.partition(resource.partition);
  const tree = usesSnapshots ? partition.snapshotAt(revision)?.tree : undefined;
  if (tree === undefined) history.countFallback();
  return { revision, tree, after: "", remaining: undefined };
}

async function continuation(listing: Listing, token: ContinueToken): Promise<Start> {
  const { ctx, resource, services } = listing;
  const { reader } = services;
  const { revision, after, remaining } = token;
  if (revision === -1) {
    await reader.reach({ kind: "mostRecent" }, ctx.state);
    const snapshot = reader.view.partition(resource.partition).snapshot();
    return { ...snapshot, after, remaining: undefined };
  }
  await reader.reach({ kind: "atLeast", revision }, ctx.state);
  return { ...stateAt(listing, revision), after, remaining };
}

function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.code === 410;
}

/** The client may finish its list all the same, at the price of consistency (S1-LIST-07). */
function expiredToken({ after }: ContinueToken, identity: ListIdentity): StatusError {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
  return expired(message, formatContinueToken({ revision: -1, after }, identity));
}

/** A list never leaves out what cannot be read as if it were not there (S1-UNS-11). */
function refuseCorrupt({ corrupt }: ObjectTree, { namespace }: Selector): void {
  if (corrupt.size === 0) return;
  const isAsked = (path: string) => namespace === "" || path.startsWith(`${namespace}/`);
  const paths = [...corrupt].filter(isAsked);
  if (paths.length > 0) throw unreadableObjects(paths);
}

interface Page {
  readonly objects: readonly StoredObject[];
  readonly hasMore: boolean;
  /** Objects behind the page; only meaningful without a selector. */
  readonly remaining: number;
}

async function sendPage(listing: Listing, start: Start, limit: number): Promise<void> {
  const { resource, services, representation, selector } = listing;
  const { revision, tree } = start;
  const page =
    tree === undefined
      ? await readHistoricalPage(listing, start, limit)
      : await readPage(tree, selector, start, limit);
  // Pages that follow find the same state, also when the ring has moved on meanwhile.
  if (page.hasMore && tree !== undefined && services.usesSnapshots !== false) {
    services.reader.view.partition(resource.partition).keep({ revision, tree });
  }
  let itemsBytes = 0;
  for (const object of page.objects) itemsBytes += representation.itemBytes?.(object) ?? 0;
  const body = new ListBody(listing, pageMetadata(listing, page, revision), itemsBytes);
  for (const object of page.objects) {
    body.put(representation, object);
    // A page may be as large as its limit.
    if (body.out.isFull && !(await body.flush())) return;
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
  // With a selector the rest could only be counted by looking at it (S1-COLL-08).
  const counted = selector.isFiltered ? undefined : remaining;
  const token = { revision, after: last.path, remaining: counted };
  return {
    resourceVersion,
    continue: formatContinueToken(token, identity),
    ...(counted === undefined ? {} : { remainingItemCount: counted }),
  };
}

async function readPage(
  tree: ObjectTree,
  selector: Selector,
  start: Start,
  limit: number,
): Promise<Page> {
  const objects: StoredObject[] = [];
  let { after } = start;
  let hasMore = false;
  for (let isComplete = false; !isComplete; ) {
    let visits = 0;
    isComplete = true;
    tree.visit(selector.namespace, after, (object) => {
      if (visits++ === VISITS_MAX) {
        isComplete = false;
        return STOP;
      }
      if (selector.isFiltered && !selector.matches(object)) {
        after = object.path;
        return undefined;
      }
      if (objects.length === limit) {
        hasMore = true;
        return STOP;
      }
      after = object.path;
      objects.push(object);
      return undefined;
    });
    if (!isComplete) await nextTurn();
  }
  if (!hasMore || selector.isFiltered) return { objects, hasMore, remaining: 0 };
  const { remaining } = start;
  if (remaining !== undefined && remaining > objects.length) {
    return { objects, hasMore, remaining: remaining - objects.length };
  }
  return { objects, hasMore, remaining: tree.count(selector.namespace, after) };
}

async function readHistoricalPage(listing: Listing, start: Start, limit: number): Promise<Page> {
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

/** Small collections go out as one body, larger ones as a stream of chunks. */
async function sendAll(listing: Listing, start: Start, tree: ObjectTree): Promise<void> {
  const { representation, selector } = listing;
  const itemsBytes = await sumOfItems(listing, start, tree);
  const body = new ListBody(listing, listMetadataAt(start), itemsBytes);
  let { after } = start;
  for (;;) {
    let isComplete = true;
    let visits = 0;
    tree.visit(selector.namespace, after, (object) => {
      if (body.out.isFull || visits++ === VISITS_MAX) {
        isComplete = false;
        return STOP;
      }
      after = object.path;
      if (selector.isFiltered && !selector.matches(object)) return undefined;
      body.put(representation, object);
      return undefined;
    });
    if (isComplete) break;
    if (!body.out.isFull) await nextTurn();
    else if (!(await body.flush())) return;
  }
  await body.end();
}

/** What the items take in an encoding that says it ahead; nothing is sent yet. */
async function sumOfItems(
  { representation, selector }: Listing,
  start: Start,
  tree: ObjectTree,
): Promise<number> {
  if (representation.itemBytes === undefined) return 0;
  let sum = 0;
  let { after } = start;
  for (;;) {
    let isComplete = true;
    let visits = 0;
    tree.visit(selector.namespace, after, (object) => {
      if (visits++ === SIZES_MAX) {
        isComplete = false;
        return STOP;
      }
      after = object.path;
      if (selector.isFiltered && !selector.matches(object)) return undefined;
      sum += representation.itemBytes?.(object) ?? 0;
      return undefined;
    });
    if (isComplete) return sum;
    await nextTurn();
  }
}

async function sendAllFromHistory(listing: Listing, start: Start): Promise<void> {
  const { representation } = listing;
  let itemsBytes = 0;
  // History does not change: reading it twice costs time, keeping it all would cost memory.
  if (representation.itemBytes !== undefined) {
    for await (const object of historicalObjects(listing, start)) {
      itemsBytes += representation.itemBytes(object);
    }
  }
  const body = new ListBody(listing, listMetadataAt(start), itemsBytes);
  // What fails after the first chunk cuts the answer, so that nobody takes it for complete.
  for await (const object of historicalObjects(listing, start)) {
    body.put(representation, object);
    if (body.out.isFull && !(await body.flush())) return;
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

function listMetadataAt({ revision }: Start): ListMetadata {
  return { resourceVersion: String(revision) };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
