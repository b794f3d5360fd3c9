/** Holds results of expressions to those of kube-apiserver, function by function and at their edges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readTable } from "../api/testing/read-table.js";
import { CelEvaluationError, createCelEnvironment } from "./environment.js";

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
  const expected = [...readTable("server/cel/testing/expression-results.tsv"), CONTROL_CHARACTERS];
  const found = expected.map(([expression = ""]) => [expression, outcomeOf(expression)]);
  assert.deepEqual(found, expected);
});

/** A text file does not hold them. */
const CONTROL_CHARACTERS = [
  'strings.quote("\\u2028\\u00a0\\u0301😀\\u0000\\u007f\\u00ad\\u200b\\a")',
  '="\u2028\u00a0́😀\u0000\u007f\u00ad\u200b\\a"',
];
