/**
 * RulesInForce for custom kinds: every write was judged by the definition in force at its revision, and
 * what is shown is shown by one that is not older than the state that is shown, nor than what the
 * request allows.
 */
import { describeList, describeOperation, describeSession, describeState } from "./describe.js";
import type {
  Definition,
  History,
  KeyedState,
  KeyOperation,
  ListOperation,
  Violation,
  WatchSession,
} from "./history.js";

export function checkDefinitions(history: History): Violation[] {
  if (history.definitions.length === 0) return [];
  const check = new DefinitionCheck(history.definitions);
  for (const state of history.base.states) check.state(state, () => "before the work");
  for (const operation of history.operations) check.operation(operation);
  for (const list of history.lists) check.list(list);
  for (const session of history.sessions) check.session(session);
  return check.violations;
}

class DefinitionCheck {
  readonly violations: Violation[] = [];
  readonly #definitions: readonly Definition[];

  constructor(definitions: readonly Definition[]) {
    this.#definitions = definitions;
  }

  operation(operation: KeyOperation): void {
    const { call, outcome, key, floor } = operation;
    if (outcome.type !== "ok" || outcome.state === undefined) return;
    const state = { key, ...outcome.state };
    const evidence = () => describeOperation(operation);
    this.state(state, evidence);
    if (call.kind === "get")
      this.#shownSince(state, call.version === "" ? floor : call.version, evidence);
  }

  list(list: ListOperation): void {
    const { items, version, match, limit, floor, pages } = list;
    const evidence = () => describeList(list);
    const isExact = match === "Exact" || (match === "" && limit > 0 && version !== "");
    for (const item of items) {
      this.state(item, evidence);
      if (isExact) continue;
      this.#shownSince(item, Math.max(version === "" ? floor : version, pages[0] ?? 0), evidence);
    }
    const shown = new Set(items.map(({ judgedBy }) => judgedBy?.shown[0]));
    if (pages.length === 1 && shown.size > 1) {
      this.#fail(`one list shows objects by definitions ${[...shown].join(", ")}`, [evidence()]);
    }
  }

  session(session: WatchSession): void {
    const evidence = () => describeSession(session);
    const end = session.items.findIndex((item) => item.type === "BOOKMARK" && item.isInitialEnd);
    const bookmark = session.items[end];
    for (const [index, item] of session.items.entries()) {
      if (item.type === "BOOKMARK") continue;
      // A deletion has the revision of what ends, not that of a write that was judged.
      if (item.type === "DELETED") this.#shownSince(item.state, item.state.revision, evidence);
      else this.state(item.state, evidence);
      const isInitial = index < end && bookmark?.type === "BOOKMARK";
      if (isInitial) this.#shownSince(item.state, bookmark.revision, evidence);
    }
  }

  /** A state at the revision of the write that stored it. */
  state(state: KeyedState, evidence: () => string): void {
    const { judgedBy, revision } = state;
    const wanted = this.#inForceAt(revision);
    if (judgedBy?.written !== wanted) {
      this.#fail(`judged by definition ${judgedBy?.written}, but ${wanted} was in force`, [
        evidence(),
        describeState(state),
      ]);
    }
    this.#shownSince(state, revision, evidence);
  }

  /** It is shown by one definition, one that was in force at `revision` or later. */
  #shownSince(state: KeyedState, revision: number, evidence: () => string): void {
    const shown = state.judgedBy?.shown ?? [];
    const [by, ...others] = shown;
    const least = this.#inForceAt(revision);
    const newest = this.#definitions.at(-1)?.number ?? 0;
    if (by !== undefined && others.length === 0 && by >= least && by <= newest) return;
    const text = shown.length === 0 ? "none" : shown.join(" and ");
    this.#fail(`shown by definition ${text}, but at ${revision} ${least} was in force`, [
      evidence(),
      describeState(state),
    ]);
  }

  #inForceAt(revision: number): number {
    return this.#definitions.findLast((definition) => definition.revision <= revision)?.number ?? 0;
  }

  #fail(message: string, evidence: readonly string[]): void {
    this.violations.push({ guarantee: "RulesInForce", message, evidence });
  }
}
