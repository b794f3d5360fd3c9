/**
 * EvaluationTurns: what the rules of one plugin take of the thread for one write. Expressions are synchronous, and one
 * policy may cost ten million steps; there may be hundreds. So an evaluation that has used up its turn is aborted, as one
 * that waits for an authorizer is, and goes on in a later turn of the event loop with what it has kept.
 */
import { nextSharedTurn } from "../../../storage/base/next-turn.js";
import type { Steps } from "../../../storage/base/steps.js";
import { type Evaluated, PAUSE_COST, type PausingEvaluation } from "../../cel/environment.js";
import { AnswerAwaited } from "./authorizer-answers.js";
import type { CompiledLater } from "./compile-later.js";

/** What it takes to compile a character of an expression: 5 ms for 10 KiB. */
const COMPILE_COST = 6;
/** What each evaluation takes besides its cost. */
const EACH_COST = 100;

export class EvaluationTurns {
  readonly #signal: AbortSignal;
  readonly #nextTurn: () => Promise<void>;
  #cost = 0;
  #pausing: Promise<void> | undefined;

  constructor(signal: AbortSignal, nextTurn: () => Promise<void> = nextSharedTurn) {
    this.#signal = signal;
    this.#nextTurn = nextTurn;
  }

  /** @throws {AnswerAwaited} in between; call it again with the same evaluation @throws {CelEvaluationError} */
  finish(evaluation: PausingEvaluation): Evaluated {
    for (;;) {
      this.#requireRest();
      try {
        const done = evaluation.goOn();
        if (done !== undefined) return done;
      } finally {
        this.#cost += EACH_COST + evaluation.pieceCost;
      }
    }
  }

  /** Compiles an expression, if nobody has. @throws {AnswerAwaited} before */
  make<T>(later: CompiledLater<T>): T | Error {
    const chars = later.charsLeft();
    if (chars > 0) {
      this.#requireRest();
      this.#cost += chars * COMPILE_COST;
    }
    return later();
  }

  /** The same for other work. @param cost of a step */
  finishSteps<Result>(steps: Steps<Result>, cost: number): Result {
    for (;;) {
      this.#requireRest();
      const step = steps.next();
      this.#cost += cost;
      if (step.done === true) return step.value;
    }
  }

  /** @throws {AnswerAwaited} if the turn is used up */
  #requireRest(): void {
    if (this.#cost > PAUSE_COST) {
      this.#pausing ??= this.#nextTurn().then(() => {
        this.#pausing = undefined;
        this.#cost = 0;
      });
    }
    if (this.#pausing !== undefined) throw new AnswerAwaited(this.#pausing, this.#signal);
  }
}
