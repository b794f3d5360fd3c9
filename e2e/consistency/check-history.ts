/** All checks of one history. */

import { checkDefinitions } from "./definition-checks.js";
import type { Guarantee, History, KeyOperation, Violation } from "./history.js";
import { checkKey } from "./object-model.js";
import { checkReads } from "./read-checks.js";
import { Timeline } from "./timeline.js";
import { checkWatches } from "./watch-checks.js";

export interface Verdict {
  readonly violations: readonly Violation[];
  /** Keys whose operations were too entangled to be decided. */
  readonly undecided: readonly string[];
  /** Of the revisions from the history's base to its end, how many are known without a gap. */
  readonly revisionsKnown: number;
  readonly revisionsAll: number;
  readonly events: number;
}

export function checkHistory(history: History): Verdict {
  const timeline = new Timeline(history);
  const violations = [...timeline.violations];
  const undecided: string[] = [];
  for (const [key, operations] of groupByKey(history.operations)) {
    const found = checkKey(operations, timeline.baseState(key), timeline);
    if (found === "gaveUp") undecided.push(key);
    else if (found !== undefined) violations.push(found);
  }
  violations.push(...checkReads(history, timeline), ...checkWatches(history, timeline));
  violations.push(...checkDefinitions(history));
  return {
    violations,
    undecided,
    revisionsKnown: timeline.completeUpTo - timeline.baseRevision,
    revisionsAll: timeline.newest - timeline.baseRevision,
    events: timeline.events.length,
  };
}

export function guaranteesOf(violations: readonly Violation[]): ReadonlySet<Guarantee> {
  return new Set(violations.map(({ guarantee }) => guarantee));
}

function groupByKey(operations: readonly KeyOperation[]): Map<string, KeyOperation[]> {
  const groups = new Map<string, KeyOperation[]>();
  for (const operation of operations) {
    const group = groups.get(operation.key);
    if (group === undefined) groups.set(operation.key, [operation]);
    else group.push(operation);
  }
  return groups;
}
