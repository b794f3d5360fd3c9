/** Rules for runtime classes: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems } from "../testing/problems.js";

test("runtime classes are accepted or refused by their rules, field by field", () => {
  checkProblems("node.k8s.io/v1/runtimeclasses", [
    [{}, "handler: Required value"],
    [
      { handler: "a", overhead: { podFixed: { "a b": "1", cpu: "-1" } } },
      "overhead.limits[a b]: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'overhead.limits[a b]: Invalid value: "a b": must be a standard resource for containers',
      'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
    [
      {
        handler: "a",
        scheduling: {
          nodeSelector: { "a b": "c" },
          tolerations: [{ operator: "Exists", key: "a", value: "b" }],
        },
      },
      "scheduling.nodeSelector: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "scheduling.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
    ],
    [
      { handler: "A" },
      "handler: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
  ]);
});

test("a runtime class keeps its handler", () => {
  checkChanges("node.k8s.io/v1/runtimeclasses", [
    [{ handler: "a" }, { handler: "a", overhead: { podFixed: { cpu: "1" } } }],
    [{ handler: "a" }, { handler: "b" }, 'handler: Invalid value: "b": field is immutable'],
  ]);
});
