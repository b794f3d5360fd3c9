/**
 * visitInTurns: visits a snapshot in short turns of at most ten thousand objects, so that other requests
 * get their turn, and earlier where large objects are parsed; a visitor may pause as well. Snapshots are immutable, so a walk continues after the
 * last visited object. Nothing is allocated per object.
 */
import { nextTurn } from "../../../storage/base/next-turn.js";
import { type ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";

/** Objects per turn when a selector skips most of them: a few milliseconds. */
const VISITS_MAX = 10_000;

/** The same where a selector looks at much of each: it is their labels that decide what one visit costs. */
const TURN_MS_MAX = 5;
/** Visits between two looks at the time. */
const LOOK = 32;

/** Bytes of objects per turn, where a selector asks for their fields. */
const SELECTED_BYTES_MAX = 1024 * 1024;
/** The same where their columns are read, several times. */
const SHOWN_BYTES_MAX = 256 * 1024;

/**
 * For `Walk.bytesMax`; undefined = objects are neither parsed to be selected nor to be shown.
 * @param isTimed whether it shows ages, as Tables do
 */
export function bytesPerTurn(
  { asksFields }: Pick<Selector, "asksFields">,
  { isTimed }: { readonly isTimed: boolean },
): number | undefined {
  if (isTimed) return SHOWN_BYTES_MAX;
  return asksFields ? SELECTED_BYTES_MAX : undefined;
}

/** Returned by a visitor to pause, and to see the same object again afterwards. */
export const REST = Symbol("rest");

/** Return undefined for the next object, STOP to end the walk with this one. */
export type TurnVisitor = (object: StoredObject) => typeof STOP | typeof REST | undefined;

export interface Walk {
  readonly tree: ObjectTree;
  /** "" = all. */
  readonly namespace: string;
  /** Only objects after this path; "" = from the start. */
  readonly after: string;
  /** For visitors with more work per object. */
  readonly visitsMax?: number;
  /** For visitors that parse objects: the turn ends behind objects of so many bytes; absent = they are not counted. */
  readonly bytesMax?: number | undefined;
  /** Measures turns. Default: the process's own time. */
  readonly time?: { now(): number };
}

/**
 * @param rest awaited when a visitor pauses, for example for its client; false ends
 *   the walk
 * @returns whether all objects were visited
 */
export async function visitInTurns(
  { tree, namespace, after: start, visitsMax = VISITS_MAX, bytesMax, time = performance }: Walk,
  visit: TurnVisitor,
  rest: () => Promise<boolean> = restOneTurn,
): Promise<boolean> {
  let after = start;
  for (;;) {
    let visits = 0;
    let bytes = 0;
    let outcome: ReturnType<TurnVisitor>;
    let isTurnOver = false;
    const sinceMs = time.now();
    tree.visit(namespace, after, (object) => {
      if (
        visits === visitsMax ||
        (bytesMax !== undefined && bytes >= bytesMax) ||
        (visits > 0 && visits % LOOK === 0 && time.now() - sinceMs >= TURN_MS_MAX)
      ) {
        isTurnOver = true;
        return STOP;
      }
      visits++;
      outcome = visit(object);
      if (outcome !== undefined) return STOP;
      after = object.path;
      if (bytesMax !== undefined) bytes += object.length;
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
