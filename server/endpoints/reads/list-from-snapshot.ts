/**
 * Lists from a snapshot of the view. The snapshot is immutable, and the bytes of its objects are
 * copied into the answer. The hot path of lists: no promise and no parse per object.
 */

import { type ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";
import { unreadableObjects } from "../../api/status.js";
import { openListBody } from "./list-body.js";
import type { Listing, Page, Start } from "./listing.js";
import { PREPARED_MAX, prepareObjects, remoteOf } from "./prepare.js";
import { isParsing, PAUSE, visitInTurns } from "./visit-in-turns.js";

/** What is done with an object that is only selected. */
const SELECTING = { isTimed: false };
/** Objects encoded per turn to compute their sizes: a few milliseconds. */
const SIZES_MAX = 500;

/** A list must not silently omit unreadable objects (S1-UNS-11). */
export function refuseCorrupt({ corrupt }: ObjectTree, { namespace }: Selector): void {
  if (corrupt.size === 0) return;
  const isAsked = (path: string) => namespace === "" || path.startsWith(`${namespace}/`);
  const paths = [...corrupt].filter(isAsked);
  if (paths.length > 0) throw unreadableObjects(paths);
}

/** @param limit more than zero */
export async function readPage(
  { selector, ctx }: Pick<Listing, "selector" | "ctx">,
  tree: ObjectTree,
  { after, remaining }: Start,
  limit: number,
): Promise<Page> {
  const { namespace } = selector;
  const objects: StoredObject[] = [];
  const nextTurn = turnsOf(ctx);
  const walk = { tree, namespace, after, nextTurn, isParsing: isParsing(selector, SELECTING) };
  const isLast = await visitInTurns(walk, (object) => {
    if (selector.isFiltered && !selector.matches(object)) return undefined;
    if (objects.length === limit) return STOP;
    objects.push(object);
    return undefined;
  });
  if (isLast || selector.isFiltered) return { objects, hasMore: !isLast, remaining: 0 };
  if (remaining !== undefined && remaining > objects.length) {
    return { objects, hasMore: true, remaining: remaining - objects.length };
  }
  const last = objects.at(-1)?.path ?? after;
  return { objects, hasMore: true, remaining: tree.count(namespace, last) };
}

function turnsOf({ state }: Pick<Listing["ctx"], "state">): () => Promise<void> {
  return () => state.nextTurn();
}

/** Sends all objects after the start. */
export async function sendAll(listing: Listing, start: Start, tree: ObjectTree): Promise<void> {
  const { selector, representation } = listing;
  const { namespace } = selector;
  const { after, revision } = start;
  if (remoteOf(listing.resource) !== undefined) await prepareAll(listing, start, tree);
  const itemsBytes = await sumOfItems(listing, start, tree);
  const body = openListBody(listing, { resourceVersion: String(revision) }, itemsBytes);
  const nextTurn = turnsOf(listing.ctx);
  const isSent = await visitInTurns(
    { tree, namespace, after, nextTurn, isParsing: isParsing(selector, representation) },
    (object) => {
      if (body.isFull) return PAUSE;
      if (!selector.isFiltered || selector.matches(object)) body.put(object);
      return undefined;
    },
    () => body.flush(),
  );
  if (isSent) await body.end();
}

/**
 * Runs before anything is sent, so that a failed conversion can still be a proper error, and before anything is
 * selected by fields of the served version.
 */
export async function prepareAll(
  { resource, selector, ctx }: Pick<Listing, "resource" | "selector" | "ctx">,
  { after }: Pick<Start, "after">,
  tree: ObjectTree,
): Promise<void> {
  const { namespace } = selector;
  const nextTurn = turnsOf(ctx);
  const isAny = !selector.isFiltered || selector.asksServedFields;
  const objects: StoredObject[] = [];
  const parses = !isAny && isParsing(selector, SELECTING);
  await visitInTurns({ tree, namespace, after, nextTurn, isParsing: parses }, (object) => {
    if (isAny || selector.matches(object)) objects.push(object);
    return undefined;
  });
  for (let at = 0; at < objects.length; at += PREPARED_MAX) {
    await prepareObjects(resource, objects.slice(at, at + PREPARED_MAX), ctx.state);
  }
}

/** The size of the items in an encoding that states it up front; sends nothing. */
async function sumOfItems(
  { representation, selector, ctx }: Listing,
  { after }: Start,
  tree: ObjectTree,
): Promise<number> {
  if (representation.itemBytes === undefined) return 0;
  const { namespace } = selector;
  const places = { tree, namespace, after, nextTurn: turnsOf(ctx) };
  let sum = 0;
  const parses = isParsing(selector, representation);
  await visitInTurns({ ...places, visitsMax: SIZES_MAX, isParsing: parses }, (object) => {
    if (!selector.isFiltered || selector.matches(object)) {
      sum += representation.itemBytes?.(object) ?? 0;
    }
    return undefined;
  });
  return sum;
}
