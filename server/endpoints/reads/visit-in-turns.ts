/**
 * visitInTurns: visits a snapshot in short turns of at most ten thousand objects, so that other requests
 * get their turn, and earlier where large objects are parsed; a visitor may pause as well. Snapshots are immutable, so a walk continues after the
 * last visited object. Nothing is allocated per object.
 */
import { type ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";

/** Objects per turn when a selector skips most of them: a few milliseconds. */
const VISITS_MAX = 10_000;

/** The same where a selector looks at much of each: it is their labels that decide what one visit costs. */
const TURN_MS_MAX = 5;
/** Visits between two looks at the time. */
const LOOK = 32;

/**
 * For `Walk.isParsing`: whether objects are parsed to be selected or to be shown.
 * @param isTimed whether it shows ages, as Tables do
 */
export function isParsing(
  { asksFields }: Pick<Selector, "asksFields">,
  { isTimed }: { readonly isTimed: boolean },
): boolean {
  return asksFields || isTimed;
}

/** Returned by a visitor to pause, and to see the same object again afterwards. */
export const PAUSE = Symbol("pause");

/** Return undefined for the next object, STOP to end the walk with this one. */
export type TurnVisitor = (object: StoredObject) => typeof STOP | typeof PAUSE | undefined;

export interface Walk {
  readonly tree: ObjectTree;
  /** "" = all. */
  readonly namespace: string;
  /** Only objects after this path; "" = from the start. */
  readonly after: string;
  /** Ends the turn: the request's own, so that those who ask for many lists get no more of the thread. */
  readonly nextTurn: () => Promise<void>;
  /** For visitors with more work per object. */
  readonly visitsMax?: number;
  /** For visitors that parse objects: the time is looked at behind each, as one may be a megabyte. */
  readonly isParsing?: boolean;
  /** Measures turns. Default: the process's own time. */
  readonly time?: { now(): number };
}

/**
 * @param rest awaited when a visitor pauses, for example for its client; false ends
 *   the walk
 * @returns whether all objects were visited
 */
export async function visitInTurns(
  {
    tree,
    namespace,
    after: start,
    nextTurn,
    visitsMax = VISITS_MAX,
    isParsing = false,
    time = performance,
  }: Walk,
  visit: TurnVisitor,
  rest: () => Promise<boolean> = () => nextTurn().then(() => true),
): Promise<boolean> {
  const look = isParsing ? 1 : LOOK;
  let after = start;
  for (;;) {
    let visits = 0;
    let outcome: ReturnType<TurnVisitor>;
    let isTurnOver = false;
    const sinceMs = time.now();
    tree.visit(namespace, after, (object) => {
      if (
        visits === visitsMax ||
        (visits > 0 && visits % look === 0 && time.now() - sinceMs >= TURN_MS_MAX)
      ) {
        isTurnOver = true;
        return STOP;
      }
      visits++;
      outcome = visit(object);
      if (outcome !== undefined) return STOP;
      after = object.path;
      return undefined;
    });
    if (outcome === STOP) return false;
    if (outcome === PAUSE) {
      if (!(await rest())) return false;
    } else if (isTurnOver) {
      await nextTurn();
    } else {
      return true;
    }
  }
}
