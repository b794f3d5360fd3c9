/**
 * Unread: a decision would have to read more of what is stored than one turn of the event loop has room for. Clients decide how
 * much that is: how many roles somebody is bound to, how large the pods of a node are. It is then read in turns, once, and
 * the decision is made on what there is afterwards.
 */
import { ShortTurns } from "../../storage/base/short-turns.js";
import { serviceUnavailable } from "../api/status.js";
import type { AuthorizationResult } from "./authorizer.js";

/** Bytes of objects that a decision reads at once: some three milliseconds. */
export const READ_BYTES_MAX = 128 * 1024;
/** How often what a decision reads may change while it is read. */
const TRIES_MAX = 20;

export class Unread extends Error {
  /** Each reads one object, unless that was done meanwhile; who reads the same one waits for the same reading. */
  readonly reads: readonly (() => Promise<void> | void)[];

  constructor(reads: readonly (() => Promise<void> | void)[]) {
    super("what decides is not read yet");
    this.reads = reads;
  }
}

/**
 * Decides, at once if possible.
 * @param decide throws Unread if it has to read much
 * @param authorizer for the reason of who is never decided about
 */
export function decideWhenRead(
  authorizer: string,
  decide: () => AuthorizationResult,
): AuthorizationResult | Promise<AuthorizationResult> {
  try {
    return decide();
  } catch (error) {
    if (!(error instanceof Unread)) throw error;
    return decideInTurns(authorizer, decide, error);
  }
}

/** What nobody could decide is no refusal: the client may ask again. */
async function decideInTurns(
  authorizer: string,
  decide: () => AuthorizationResult,
  first: Unread,
): Promise<AuthorizationResult> {
  const turns = new ShortTurns();
  let { reads } = first;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    for (const read of reads) {
      await read();
      await turns.yieldIfLong();
    }
    try {
      return decide();
    } catch (error) {
      // Some of it changed meanwhile.
      if (!(error instanceof Unread)) throw error;
      reads = error.reads;
    }
  }
  const reason = `${authorizer}: what decides changes too often`;
  return { decision: "no-opinion", reason, error: serviceUnavailable(reason) };
}
