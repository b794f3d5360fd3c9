/** What evaluating a policy takes besides its expressions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CelProgram } from "../../cel/environment.js";
import type { CompiledLater } from "../matching/compile-later.js";
import { compileLater } from "../matching/compile-later.js";
import { EvaluationTurns } from "../matching/evaluation-turns.js";
import { Evaluation } from "./evaluation.js";
import type { Policy } from "./policy.js";

test("39.2: variables of a policy are looked at once, however many validations are compiled", () => {
  const done = { goOn: () => ({ value: true, cost: 1 }), pieceCost: 1 };
  const program = { begin: () => done } as unknown as CelProgram;
  const expression = "true";
  const made = () => compileLater(expression.length, () => program);
  let asked = 0;
  class CountingTurns extends EvaluationTurns {
    override make<T>(later: CompiledLater<T>): T | Error {
      asked++;
      return super.make(later);
    }
  }
  const many = Array.from({ length: 100 }, (_, at) => ({
    name: `v${at}`,
    expression,
    program: made(),
  }));
  const policy = {
    variables: many,
    variableNames: many.map(({ name }) => name),
    conditions: [],
    validations: many.map(() => ({ expression, program: made(), message: "", reason: "" })),
    auditAnnotations: [],
  } as unknown as Policy;
  const turns = new CountingTurns(new AbortController().signal);
  const evaluation = new Evaluation(policy, {}, null, { turns, nowMs: () => 0 });
  assert.deepEqual(evaluation.validate(policy).objections, []);
  assert.equal(asked, 200);
});
