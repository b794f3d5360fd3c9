/**
 * visitInTurns: walks over a snapshot in turns that are short enough for everybody else, as ten
 * thousand objects at a time, or fewer where the visitor wants a rest. Snapshots do not change, so a
 * walk goes on behind the object that it last visited. Nothing is allocated per object.
 */
import { nextTurn } from "../../../storage/base/next-turn.js";
import { type ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";

/** Objects looked at in one turn, most of which a selector leaves out: a few milliseconds. */
const VISITS_MAX = 10_000;

/** A visitor returns it to see the same object again after the rest. */
export const REST = Symbol("rest");

/** Return undefined for the next object, STOP to end the walk with this one. */
export type TurnVisitor = (object: StoredObject) => typeof STOP | typeof REST | undefined;

export interface Walk {
  readonly tree: ObjectTree;
  /** "" = all. */
  readonly namespace: string;
  /** Only objects behind this path; "" = from the start. */
  readonly after: string;
  /** For visitors that do more with an object than to look at it. */
  readonly visitsMax?: number;
}

/**
 * @param rest what a visitor rests for, such as its client; false ends the walk
 * @returns whether all objects were visited
 */
export async function visitInTurns(
  { tree, namespace, after: start, visitsMax = VISITS_MAX }: Walk,
  visit: TurnVisitor,
  rest: () => Promise<boolean> = restOneTurn,
): Promise<boolean> {
  let after = start;
  for (;;) {
    let visits = 0;
    let outcome: ReturnType<TurnVisitor>;
    let isTurnOver = false;
    tree.visit(namespace, after, (object) => {
      if (visits++ === visitsMax) {
        isTurnOver = true;
        return STOP;
      }
      outcome = visit(object);
      if (outcome !== undefined) return STOP;
      after = object.path;
      return undefined;
    });
    if (outcome === STOP) return false;
    if (outcome === REST) {
      if (!(await rest())) return false;
    } else if (isTurnOver) {
      await nextTurn();
    } else {
      return true;
    }
  }
}

async function restOneTurn(): Promise<boolean> {
  await nextTurn();
  return true;
}
