/** Where clients write down what they did; keeps the newest revision that anybody has seen. */
import type {
  Definition,
  History,
  KeyedState,
  KeyOperation,
  ListOperation,
  WatchItem,
  WatchSession,
} from "./history.js";

/** A surprise is told once; floods of the same one say nothing new. */
const SURPRISES_MAX = 50;

/** What is known when something is invoked. */
export interface Invocation {
  readonly id: number;
  readonly client: string;
  readonly replica: number;
  readonly floor: number;
  readonly invokedMs: number;
}

export class Recorder {
  readonly #base: History["base"];
  readonly #operations: KeyOperation[] = [];
  readonly #lists: ListOperation[] = [];
  readonly #sessions: WatchSession[] = [];
  readonly #surprises = new Set<string>();
  readonly #definitions: Definition[];
  #newest: number;
  #nextId = 1;

  /** @param definitions those that the workload's kind has had before */
  constructor(
    base: { readonly revision: number; readonly states: readonly KeyedState[] },
    definitions: readonly Definition[] = [],
  ) {
    this.#base = base;
    this.#definitions = [...definitions];
    this.#newest = base.revision;
  }

  /** The newest revision that any answer or event has shown. */
  get newest(): number {
    return this.#newest;
  }

  get operations(): number {
    return this.#operations.length + this.#lists.length;
  }

  nowMs(): number {
    return performance.now();
  }

  invoke(client: string, replica: number): Invocation {
    return {
      id: this.#nextId++,
      client,
      replica,
      floor: this.#newest,
      invokedMs: this.nowMs(),
    };
  }

  operation(
    invocation: Invocation,
    what: Pick<KeyOperation, "key" | "call" | "outcome">,
    completedMs = this.nowMs(),
  ): void {
    const isUnknown = what.outcome.type === "unknown";
    const end = isUnknown ? Number.POSITIVE_INFINITY : completedMs;
    this.#operations.push({ ...invocation, ...what, completedMs: end });
    if (what.outcome.type === "ok") this.saw(what.outcome.state?.revision ?? 0);
  }

  list(invocation: Invocation, what: Omit<ListOperation, keyof Invocation | "completedMs">): void {
    this.#lists.push({ ...invocation, ...what, completedMs: this.nowMs() });
    for (const revision of what.pages) this.saw(revision);
  }

  session(
    invocation: Invocation,
    what: Pick<WatchSession, "scope" | "start" | "items" | "ending">,
  ): void {
    this.#sessions.push({ ...invocation, ...what, completedMs: this.nowMs() });
  }

  definition(definition: Definition): void {
    this.#definitions.push(definition);
    this.saw(definition.revision);
  }

  /** To be called as soon as an item of a watch has arrived. */
  sawItem(item: WatchItem): void {
    this.saw(item.type === "BOOKMARK" ? item.revision : item.state.revision);
  }

  saw(revision: number): void {
    this.#newest = Math.max(this.#newest, revision);
  }

  surprise(what: string): void {
    if (this.#surprises.size < SURPRISES_MAX) this.#surprises.add(what);
  }

  finish(): History {
    return {
      base: this.#base,
      operations: this.#operations,
      lists: this.#lists,
      sessions: this.#sessions,
      definitions: this.#definitions,
      surprises: [...this.#surprises],
    };
  }
}
