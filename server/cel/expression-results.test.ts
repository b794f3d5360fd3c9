/** Holds results of expressions to those of kube-apiserver, function by function and at their edges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CelEvaluationError, createCelEnvironment } from "./environment.js";
import { EXPRESSION_RESULTS } from "./testing/expression-results.js";

const environment = createCelEnvironment({ variables: {} });

function outcomeOf(expression: string): string {
  const program = environment.compile(`'%s'.format([${expression}])`, ["dyn"]);
  try {
    return `=${program.evaluate({})}`;
  } catch (error) {
    if (error instanceof CelEvaluationError) return error.message;
    throw error;
  }
}

test("D3: expressions have the results and errors that they have in kube-apiserver", () => {
  const found = EXPRESSION_RESULTS.map(([expression]) => [expression, outcomeOf(expression)]);
  assert.deepEqual(found, EXPRESSION_RESULTS);
});
