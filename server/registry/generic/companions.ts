/**
 * Companions: what admission wants to be written with an object, such as the usage that a quota counts.
 * It rides in the object's own transaction, so it is never counted without the object nor the reverse.
 *
 * Many objects may have the same companion. Their writers take turns inside this process once they
 * have got in each other's way, as writers of one object do (write-turns.ts).
 */
import type { CommitResult, Transaction } from "../../../storage/kv/store.js";
import type { Companion } from "../../admission/admission.js";
import type { StatusError } from "../../api/status.js";
import type { EndTurn, WriteTurns } from "./write-turns.js";

/** Tries of one write against those of other replicas that have the same companion. */
export const COMPANION_ATTEMPTS_MAX = 100;

const NONE: readonly Companion[] = Object.freeze([]);

/** The companions of one request, and its turn on them. */
export class CompanionRound {
  readonly #turns: WriteTurns | undefined;
  #end: EndTurn | undefined;
  #companions: readonly Companion[] = NONE;

  constructor(turns: WriteTurns | undefined) {
    this.#turns = turns;
  }

  get hasTurn(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Takes what admission asked for.
   * @returns a promise where others have to go first; what it asked for is old by then
   */
  take(companions: readonly Companion[] = NONE, signal: AbortSignal): Promise<void> | undefined {
    this.#companions = companions;
    const key = companions[0]?.compares[0]?.key;
    if (key === undefined || this.#end !== undefined) return undefined;
    if (this.#turns?.isContested(key) !== true) return undefined;
    return this.#takeTurn(this.#turns, key, signal);
  }

  /** The transaction with all companions. */
  join({ compares, operations }: Transaction): Transaction {
    if (this.#companions.length === 0) return { compares, operations };
    return {
      compares: [...compares, ...this.#companions.flatMap((companion) => companion.compares)],
      operations: [...operations, ...this.#companions.flatMap((companion) => companion.operations)],
    };
  }

  /**
   * Tells the companions what became of it.
   * @param own how many compares of the transaction are the object's own
   * @returns a wait for the turn on the companion that was in the way, if one was
   */
  settle(result: CommitResult, own: number, signal: AbortSignal): Promise<void> | undefined {
    let at = own;
    let lost: string | undefined;
    for (const companion of this.#companions) {
      const { compares } = companion;
      if (result.succeeded) {
        companion.settled(result);
        continue;
      }
      const current = result.current.slice(at, at + compares.length);
      at += compares.length;
      companion.settled({ ...result, current });
      const changed = compares.find(
        ({ modRevision }, index) => (current[index]?.modRevision ?? 0) !== modRevision,
      );
      lost ??= changed?.key;
    }
    if (lost === undefined || this.#end !== undefined || this.#turns === undefined)
      return undefined;
    return this.#takeTurn(this.#turns, lost, signal);
  }

  /** Lets the next one go, or with an outage all who wait; must be called. */
  end(outage: StatusError | undefined): void {
    this.#end?.(outage);
  }

  async #takeTurn(turns: WriteTurns, key: string, signal: AbortSignal): Promise<void> {
    this.#end = await turns.take(key, signal);
  }
}
