/**
 * The search for a linearization (Wing and Gong's, with Lowe's memory of what was tried): is there an
 * order of the operations that respects real time and that a sequential model could have produced?
 *
 * Depth first over "which operation took effect next". An operation may be next when no other one
 * that has not taken effect completed before it was invoked. What was reached is remembered as the
 * set of operations done and the state; that set is written as the length of the done prefix and the
 * few done beyond it, so long histories cost little.
 */
export interface TimedOperation {
  readonly invokedMs: number;
  /** Infinity = may take effect at any later time. */
  readonly completedMs: number;
}

export interface Model<Operation, State> {
  readonly initial: State;
  /** The state after the operation; undefined when it cannot have gone like this here. */
  step(state: State, operation: Operation): State | undefined;
  /** Equal for equal states. */
  keyOf(state: State): string;
  /** Whether the operation may as well never have taken effect. */
  isOptional(operation: Operation): boolean;
  /**
   * Optional operations of one class that are interchangeable but for their invocation: then only
   * the earliest is tried. undefined = not interchangeable.
   */
  classOf(operation: Operation): string | undefined;
}

export type SearchResult<Operation> =
  | { readonly type: "found"; readonly order: readonly Operation[] }
  | {
      readonly type: "impossible";
      /** The longest order that works. */
      readonly longest: readonly Operation[];
      /** What could have come next and does not fit. */
      readonly stuck: readonly Operation[];
    }
  /** Too many possibilities to look at. */
  | { readonly type: "gaveUp" };

/** What is remembered takes about 100 bytes each. */
const VISITED_MAX = 1_000_000;

interface Frame<State> {
  readonly state: State;
  /** The first mandatory operation that is not done. */
  readonly first: number;
  readonly candidates: readonly number[];
  next: number;
  /** What was done to get here; -1 at the start. */
  readonly chosen: number;
}

export function searchLinearization<Operation extends TimedOperation, State>(
  history: readonly Operation[],
  model: Model<Operation, State>,
  visitedMax = VISITED_MAX,
): SearchResult<Operation> {
  return new Search(history, model, visitedMax).run();
}

class Search<Operation extends TimedOperation, State> {
  readonly #operations: readonly Operation[];
  readonly #model: Model<Operation, State>;
  readonly #visitedMax: number;
  readonly #isOptional: readonly boolean[];
  readonly #optional: readonly number[];
  readonly #isDone: Uint8Array;
  readonly #mandatoryCount: number;
  /** Indexes of mandatory operations that are done although an earlier one is not. */
  readonly #beyond = new Set<number>();
  readonly #optionalDone = new Set<number>();

  constructor(history: readonly Operation[], model: Model<Operation, State>, visitedMax: number) {
    this.#operations = [...history].sort((a, b) => a.invokedMs - b.invokedMs);
    this.#model = model;
    this.#visitedMax = visitedMax;
    this.#isOptional = this.#operations.map((operation) => model.isOptional(operation));
    this.#optional = this.#isOptional.flatMap((isOptional, index) => (isOptional ? [index] : []));
    this.#isDone = new Uint8Array(this.#operations.length);
    this.#mandatoryCount = this.#operations.length - this.#optional.length;
  }

  run(): SearchResult<Operation> {
    const visited = new Set<string>();
    const start = this.#skipDone(0);
    const initial = this.#frame(this.#model.initial, start, -1);
    const stack: Frame<State>[] = [initial];
    let deepest: { order: number[]; candidates: readonly number[] } = {
      order: [],
      candidates: initial.candidates,
    };
    let mandatoryDone = 0;
    if (this.#mandatoryCount === 0) return { type: "found", order: [] };
    for (;;) {
      const top = stack.at(-1);
      if (top === undefined) break;
      const index = top.candidates[top.next++];
      if (index === undefined) {
        stack.pop();
        const below = stack.at(-1);
        if (top.chosen >= 0 && below !== undefined) {
          this.#undo(top.chosen, below.first, top.first);
          if (!this.#isOptional[top.chosen]) mandatoryDone--;
        }
        continue;
      }
      const state = this.#model.step(top.state, this.#operation(index));
      if (state === undefined) continue;
      const first = this.#do(index, top.first);
      const key = this.#keyOf(first, state);
      if (visited.has(key)) {
        this.#undo(index, top.first, first);
        continue;
      }
      visited.add(key);
      if (visited.size > this.#visitedMax) return { type: "gaveUp" };
      if (!this.#isOptional[index]) mandatoryDone++;
      const frame = this.#frame(state, first, index);
      stack.push(frame);
      if (mandatoryDone === this.#mandatoryCount) {
        return { type: "found", order: this.#toOrder(chosenOf(stack)) };
      }
      if (stack.length - 1 > deepest.order.length) {
        deepest = { order: chosenOf(stack), candidates: frame.candidates };
      }
    }
    return {
      type: "impossible",
      longest: this.#toOrder(deepest.order),
      stuck: this.#toOrder(deepest.candidates),
    };
  }

  #toOrder(indexes: readonly number[]): Operation[] {
    return indexes.map((index) => this.#operation(index));
  }

  #operation(index: number): Operation {
    const operation = this.#operations[index];
    if (operation === undefined) throw new RangeError(`no operation ${index}`);
    return operation;
  }

  #frame(state: State, first: number, chosen: number): Frame<State> {
    return { state, first, chosen, next: 0, candidates: this.#candidatesFrom(first) };
  }

  /** What may be next, soonest completed first: most often that is the right guess. */
  #candidatesFrom(first: number): number[] {
    const candidates: number[] = [];
    let soonest = Number.POSITIVE_INFINITY;
    for (let index = first; index < this.#operations.length; index++) {
      if (this.#isDone[index] === 1 || this.#isOptional[index] === true) continue;
      const operation = this.#operation(index);
      if (operation.invokedMs > soonest) break;
      soonest = Math.min(soonest, operation.completedMs);
      candidates.push(index);
    }
    candidates.sort((a, b) => this.#operation(a).completedMs - this.#operation(b).completedMs);
    const classes = new Set<string>();
    for (const index of this.#optional) {
      const operation = this.#operation(index);
      if (operation.invokedMs > soonest) break;
      if (this.#isDone[index] === 1) continue;
      const name = this.#model.classOf(operation);
      if (name !== undefined && classes.has(name)) continue;
      if (name !== undefined) classes.add(name);
      candidates.push(index);
    }
    return candidates;
  }

  /** @returns the first mandatory operation that is not done then */
  #do(index: number, first: number): number {
    this.#isDone[index] = 1;
    if (this.#isOptional[index] === true) {
      this.#optionalDone.add(index);
      return first;
    }
    if (index !== first) {
      this.#beyond.add(index);
      return first;
    }
    const next = this.#skipDone(first);
    for (let passed = first; passed < next; passed++) this.#beyond.delete(passed);
    return next;
  }

  #undo(index: number, firstBefore: number, firstAfter: number): void {
    this.#isDone[index] = 0;
    this.#optionalDone.delete(index);
    this.#beyond.delete(index);
    for (let passed = firstBefore + 1; passed < firstAfter; passed++) {
      if (this.#isOptional[passed] === false) this.#beyond.add(passed);
    }
  }

  #skipDone(from: number): number {
    let index = from;
    while (
      index < this.#operations.length &&
      (this.#isDone[index] === 1 || this.#isOptional[index] === true)
    ) {
      index++;
    }
    return index;
  }

  #keyOf(first: number, state: State): string {
    const sorted = (set: ReadonlySet<number>) => [...set].sort((a, b) => a - b).join(",");
    return `${first}|${sorted(this.#beyond)}|${sorted(this.#optionalDone)}|${this.#model.keyOf(state)}`;
  }
}

function chosenOf(stack: readonly { readonly chosen: number }[]): number[] {
  return stack.flatMap(({ chosen }) => (chosen >= 0 ? [chosen] : []));
}
