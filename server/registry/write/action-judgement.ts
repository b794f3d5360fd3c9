/**
 * What an action was admitted by. The action stores nothing itself, so its own writes compare the rules
 * of its admission: the first of them is not committed by a rule that has been replaced, on any replica.
 *
 *   revision 7   the action is admitted by the rules of 7
 *   A commits    another rule at 8
 *   the action   "rules still of 7": refused; its next attempt sees 8, so it is admitted anew
 *
 * What follows its first transaction completes it, whatever rules come then.
 */
import type { Compare } from "../../../storage/kv/store.js";
import type { Judgement } from "../registry.js";
import { type EpochHost, scopedEpochs } from "./epochs.js";

/** Another rule came between the action's admission and its first transaction. */
export class RulesMoved extends Error {}

export class ActionJudgement implements Judgement {
  readonly #epochs: ReadonlyMap<string, Compare["modRevision"]>;
  #isCommitted = false;

  /** Make it before the action is admitted. */
  constructor(host: EpochHost, namespace: string) {
    const epochs = scopedEpochs(host, ["cluster", "namespace"], namespace);
    this.#epochs = new Map(epochs.map(({ key, modRevision }) => [key, modRevision]));
  }

  check(conditions: readonly Compare[]): void {
    if (this.#isCommitted) return;
    for (const { key, modRevision } of conditions) {
      const known = this.#epochs.get(key);
      if (known !== undefined && known !== modRevision) throw new RulesMoved();
    }
  }

  committed(): void {
    this.#isCommitted = true;
  }
}
