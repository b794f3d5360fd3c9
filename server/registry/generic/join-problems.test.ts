/** One cause per mistake: which source reports it, with which message, and in which order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { invalidValue, requiredValue, unsupportedValue } from "../../api/field-errors.js";
import { invalid } from "../../api/status.js";
import { joinProblems } from "./join-problems.js";

const metadata = [invalidValue("metadata.name", "A", "wrong")];

test("what the rules of a type say of a missing field stands in place of what the facts say", () => {
  const own = [requiredValue("rules[0].verbs", "verbs must contain at least one value")];
  assert.deepEqual(joinProblems({ facts: [requiredValue("rules[0].verbs")], metadata, own }), [
    ...metadata,
    ...own,
  ]);
  const other = [unsupportedValue("kind", "", ["a"])];
  assert.deepEqual(
    joinProblems({ facts: [requiredValue("kind")], metadata: [], own: other }),
    other,
  );
});

test("a value that is wrong in two ways is reported with both", () => {
  const facts = [unsupportedValue("type", "b", ["a"])];
  const own = [invalidValue("type", "b", "may not change")];
  assert.deepEqual(joinProblems({ facts, metadata: [], own }), [...facts, ...own]);
  const same = [unsupportedValue("type", "b", ["a", "c"])];
  assert.deepEqual(joinProblems({ facts, metadata: [], own: same }), same);
});

test("metadata comes first, and the items of a list come one after the other", () => {
  const facts = [requiredValue("spec.items[2].name"), requiredValue("spec.items[10].name")];
  const own = [
    invalidValue("spec.items[1].port", 0, ""),
    invalidValue("spec.items[9].port", 0, ""),
  ];
  assert.deepEqual(
    joinProblems({ facts, metadata, own }).map(({ field }) => field),
    [
      "metadata.name",
      "spec.items[1].port",
      "spec.items[2].name",
      "spec.items[9].port",
      "spec.items[10].name",
    ],
  );
});

test("S1-ERR-08: of thousands of problems the first are told", async () => {
  const many = (name: string) =>
    Array.from({ length: 100_000 }, (_, index) => requiredValue(`items[${index}].${name}`));
  const problems = joinProblems({ facts: many("a"), metadata, own: many("b") });
  assert.ok(problems.length < 3_000);
  const { message, status } = invalid({ group: "", kind: "Thing" }, "x", problems);
  const causes = status.details?.causes ?? [];
  assert.equal(causes[0]?.field, "metadata.name");
  assert.equal(causes.length, 100);
  assert.match(message, /, and more\]$/);
});
