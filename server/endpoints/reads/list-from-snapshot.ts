/**
 * Lists from a snapshot of the view: nothing changes it while it is visited, and the bytes of its
 * objects are copied into the answer. The hot path of lists: no promise and no parse per object.
 */
import { type ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";
import { unreadableObjects } from "./corrupt-objects.js";
import { ListBody } from "./list-body.js";
import type { Listing, Page, Start } from "./listing.js";

/** Objects looked at in one turn where a selector leaves most of them out: a few milliseconds. */
const VISITS_MAX = 10_000;
/** Objects encoded in one turn, only to know their sizes: a few milliseconds. */
const SIZES_MAX = 500;

/** A list never leaves out what cannot be read as if it were not there (S1-UNS-11). */
export function refuseCorrupt({ corrupt }: ObjectTree, { namespace }: Selector): void {
  if (corrupt.size === 0) return;
  const isAsked = (path: string) => namespace === "" || path.startsWith(`${namespace}/`);
  const paths = [...corrupt].filter(isAsked);
  if (paths.length > 0) throw unreadableObjects(paths);
}

/** @param limit more than zero */
export async function readPage(
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

/** Small collections go out as one body, larger ones as a stream of chunks. */
export async function sendAll(listing: Listing, start: Start, tree: ObjectTree): Promise<void> {
  const { representation, selector } = listing;
  const itemsBytes = await sumOfItems(listing, start, tree);
  const body = new ListBody(listing, { resourceVersion: String(start.revision) }, itemsBytes);
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

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
