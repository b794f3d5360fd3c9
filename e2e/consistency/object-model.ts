/**
 * One object as the API promises it: a register with a version, conditional writes, and absence.
 * Checks the operations of one key for linearizability over all replicas, and says which guarantee
 * broke: when the writes alone have no order it is NoLostUpdate, when only the reads do not fit in,
 * it is Fresh.
 */
import { describeOperation } from "./describe.js";
import {
  type Content,
  type KeyOperation,
  type ObjectState,
  sameContent,
  type Violation,
} from "./history.js";
import { type Model, searchLinearization } from "./search.js";

/** What other sources, such as watches, tell about writes whose outcome is unknown. */
export interface WriteKnowledge {
  /** The revision of the write that left `w` behind, where anybody has seen it. */
  revisionOf(w: string): number | undefined;
  /** Whether a write that nobody has seen certainly did not happen. */
  readonly isComplete: boolean;
}

interface KeyState {
  /** undefined = there is no such object. */
  readonly content: Content | undefined;
  /** undefined = nobody has seen which. */
  readonly revision: number | undefined;
  /** All later writes have larger revisions than this. */
  readonly floor: number;
}

/** How much of the order before the contradiction is shown. */
const EVIDENCE_BEFORE = 8;

/** @returns nothing when there is an order, "gaveUp" when it could not be decided */
export function checkKey(
  operations: readonly KeyOperation[],
  initial: ObjectState | undefined,
  knowledge: WriteKnowledge,
): Violation | "gaveUp" | undefined {
  const relevant = operations.filter((operation) => saysSomething(operation, knowledge));
  const model = new ObjectModel(initial, knowledge);
  const all = searchLinearization(relevant, model);
  if (all.type === "found") return undefined;
  if (all.type === "gaveUp") return "gaveUp";

  const writes = searchLinearization(relevant.filter(isWrite), model);
  if (writes.type === "gaveUp") return "gaveUp";
  const isLost = writes.type === "impossible";
  const { longest, stuck } = isLost ? writes : all;
  const key = operations[0]?.key ?? "";
  return {
    guarantee: isLost ? "NoLostUpdate" : "Fresh",
    message: isLost
      ? `${key}: no order of the writes explains their answers`
      : `${key}: the writes have an order, but no order of writes and reads explains the answers`,
    evidence: [
      ...longest.slice(-EVIDENCE_BEFORE).map((o) => `fits:     ${describeOperation(o)}`),
      ...stuck.map((operation) => `does not: ${describeOperation(operation)}`),
    ],
  };
}

/** Without those that had no effect, or none that anybody could have seen. */
function saysSomething(operation: KeyOperation, knowledge: WriteKnowledge): boolean {
  const { call, outcome } = operation;
  // "Any" and "not older than" are no linearizable reads.
  if (call.kind === "get") return call.version === "" && outcome.type !== "unknown";
  if (outcome.type === "unknown") {
    if (call.kind === "delete") return true;
    return !knowledge.isComplete || knowledge.revisionOf(writeIdOf(operation)) !== undefined;
  }
  if (outcome.type !== "refused" || outcome.reason !== "Conflict") return true;
  // A write without condition that gave up against others says nothing about the object.
  return "base" in call && call.base !== undefined;
}

function isWrite({ call }: KeyOperation): boolean {
  return call.kind !== "get";
}

function writeIdOf({ call }: KeyOperation): string {
  switch (call.kind) {
    case "create":
    case "replace":
      return call.content.w;
    case "patch":
      return call.w;
    default:
      return "";
  }
}

class ObjectModel implements Model<KeyOperation, KeyState> {
  readonly initial: KeyState;
  readonly #knowledge: WriteKnowledge;

  constructor(initial: ObjectState | undefined, knowledge: WriteKnowledge) {
    this.#knowledge = knowledge;
    this.initial = {
      content: initial?.content,
      revision: initial?.revision,
      floor: initial?.revision ?? 0,
    };
  }

  step(state: KeyState, operation: KeyOperation): KeyState | undefined {
    const { outcome } = operation;
    if (outcome.type === "refused") {
      return isRightlyRefused(state, operation, outcome.reason) ? state : undefined;
    }
    const { call } = operation;
    switch (call.kind) {
      case "get": {
        const seen = outcome.type === "ok" ? outcome.state : undefined;
        if (seen === undefined || state.content === undefined) return undefined;
        const isSame = state.revision === seen.revision && sameContent(state.content, seen.content);
        return isSame ? state : undefined;
      }
      case "create":
        if (state.content !== undefined) return undefined;
        return this.#written(state, operation, call.content);
      case "replace":
        if (state.content === undefined || !meetsCondition(state, call.base)) return undefined;
        return this.#written(state, operation, call.content);
      case "patch":
        if (state.content === undefined) return undefined;
        return this.#written(state, operation, { ...state.content, w: call.w, p: call.w });
      case "delete":
        if (state.content === undefined || !meetsCondition(state, call.base)) return undefined;
        return { content: undefined, revision: undefined, floor: state.floor };
    }
  }

  keyOf({ content, revision, floor }: KeyState): string {
    return `${content?.w} ${content?.v} ${revision} ${floor}`;
  }

  isOptional(operation: KeyOperation): boolean {
    if (operation.outcome.type !== "unknown") return false;
    return this.#knowledge.revisionOf(writeIdOf(operation)) === undefined;
  }

  classOf({ call }: KeyOperation): string | undefined {
    return call.kind === "delete" && call.base === undefined ? "delete" : undefined;
  }

  #written(state: KeyState, operation: KeyOperation, content: Content): KeyState | undefined {
    const { outcome } = operation;
    const answered = outcome.type === "ok" ? outcome.state : undefined;
    if (answered !== undefined && !sameContent(answered.content, content)) return undefined;
    const revision = answered?.revision ?? this.#knowledge.revisionOf(content.w);
    if (revision !== undefined && revision <= state.floor) return undefined;
    return { content, revision, floor: revision ?? state.floor };
  }
}

function meetsCondition(state: KeyState, base: number | undefined): boolean {
  return base === undefined || state.revision === base;
}

function isRightlyRefused(
  state: KeyState,
  { call }: KeyOperation,
  reason: "NotFound" | "AlreadyExists" | "Conflict",
): boolean {
  switch (reason) {
    case "NotFound":
      return state.content === undefined;
    case "AlreadyExists":
      return state.content !== undefined;
    case "Conflict": {
      const base = "base" in call ? call.base : undefined;
      return state.content !== undefined && !meetsCondition(state, base);
    }
  }
}
