/** inPages: the objects of a tree one after the other, for who does much with each and rests in between. A visit of a tree cannot be interrupted. */
import type { StoredObject } from "../objects/stored-object.js";
import { type ObjectTree, STOP } from "./object-tree.js";

/** Objects that are kept at a time. */
const PAGE = 100;

/**
 * @param namespace "" = all
 * @param from the path that the first one is behind
 */
export function* inPages(
  tree: ObjectTree,
  namespace: string,
  from = "",
): Generator<StoredObject, void> {
  let page: StoredObject[];
  let after = from;
  do {
    page = [];
    tree.visit(namespace, after, (stored) => (page.push(stored) < PAGE ? undefined : STOP));
    yield* page;
    after = page.at(-1)?.path ?? "";
  } while (page.length === PAGE);
}
