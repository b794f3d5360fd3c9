/**
 * What led to each of many writes, found in turns: other requests of the replica wait for a few writes, never for all of
 * a timeline.
 */
import { nextTurn } from "../../storage/base/next-turn.js";
import { linksOf, type Names } from "./links.js";
import type { RecordIndex } from "./record-index.js";
import type { Link, RecordedWrite } from "./record-types.js";

/** Of one write; `why` has all. */
const CANDIDATES_SHOWN = 3;
/** Of a client with sixty informers one takes up to two milliseconds. */
const WRITES_A_TURN = 5;

export async function timelineLinks(
  index: RecordIndex,
  writes: readonly RecordedWrite[],
  names: Names,
  waitForTurn: () => Promise<void> = nextTurn,
): Promise<Link[]> {
  const links: Link[] = [];
  for (const [at, write] of writes.entries()) {
    if (at > 0 && at % WRITES_A_TURN === 0) await waitForTurn();
    const { exact, candidates } = linksOf(index, write, names);
    links.push(...exact, ...candidates.slice(0, CANDIDATES_SHOWN));
  }
  return links;
}
