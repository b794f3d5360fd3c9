import assert from "node:assert/strict";
import { test } from "node:test";
import { requiredValue } from "./field-errors.js";
import { collectProblems, PROBLEMS_MAX, Problems } from "./problems.js";
import { invalid } from "./status.js";

/** A validator that does not look how many problems there are. */
function validateItems(count: number, steps: { made: number }, path = "items") {
  const errors = new Problems();
  for (let index = 0; index < count; index++) {
    steps.made++;
    errors.push(requiredValue(`${path}[${index}].name`));
  }
  return errors;
}

test("finding ends at the bound, whatever a validator does (H4)", () => {
  const steps = { made: 0 };
  assert.equal(collectProblems(() => validateItems(1_000_000, steps)).length, PROBLEMS_MAX + 1);
  assert.equal(steps.made, PROBLEMS_MAX + 1);
});

test("problems below a long path are few, and their refusal has at most 64 KiB (H1)", () => {
  const steps = { made: 0 };
  const problems = collectProblems(() => validateItems(1_000, steps, "\u0001".repeat(100_000)));
  assert.equal(problems.length, 1);
  const { status } = invalid({ group: "", kind: "Thing" }, "x", problems);
  assert.ok(JSON.stringify(status).length < 64 * 1024);
});

test("few problems are returned as they were found, and other errors pass", () => {
  const found = collectProblems(() => validateItems(3, { made: 0 }));
  assert.deepEqual(
    found.map(({ field }) => field),
    ["items[0].name", "items[1].name", "items[2].name"],
  );
  const defect = new Error("defect");
  const fail = () => {
    throw defect;
  };
  assert.throws(() => collectProblems(fail), defect);
});
