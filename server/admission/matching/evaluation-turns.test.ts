import assert from "node:assert/strict";
import { test } from "node:test";
import { whenAnswered } from "./authorizer-answers.js";
import { EvaluationTurns } from "./evaluation-turns.js";

test("39.3: a request that has gone gets no further evaluation", async () => {
  const ending = new AbortController();
  function* endless() {
    for (let step = 0; ; step++) {
      if (step === 100) ending.abort(new Error("the client has gone"));
      yield;
    }
  }
  const turns = new EvaluationTurns(ending.signal);
  const steps = endless();
  const answer = whenAnswered(() => turns.finishSteps(steps, 1_000));
  await assert.rejects(async () => await answer, /the client has gone/);
});
