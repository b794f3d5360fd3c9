/** How explanations look. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatExplanations } from "./format-explanations.js";

test("each write has a line of its own, and each rule one below it, in columns", () => {
  const write = { operation: "CREATE", resource: "pods", namespace: "team", name: "web" };
  const text = formatExplanations([
    {
      ...write,
      user: "jane",
      warnings: ["mind\nthe gap"],
      status: { code: 403, message: 'pods "web" is forbidden:\n  no' },
      rules: [
        {
          plugin: "ValidatingAdmissionPolicy",
          configuration: "limits",
          rule: "limits-team",
          outcome: "refused",
          why: "no",
          milliseconds: 0.1234,
        },
        {
          plugin: "ValidatingAdmissionWebhook",
          configuration: "other",
          rule: "",
          outcome: "skipped",
          why: "not about such requests",
          milliseconds: 0,
        },
      ],
    },
    { ...write, operation: "DELETE", namespace: "", rules: [], warnings: [], object: {} },
  ]);
  assert.equal(
    text,
    [
      'CREATE pods team/web as jane: would be refused (403): pods "web" is forbidden: no',
      "Warning: mind the gap",
      "",
      "PLUGIN                       CONFIGURATION   RULE          OUTCOME   TIME     WHY",
      "ValidatingAdmissionPolicy    limits          limits-team   refused   0.12ms   no",
      "ValidatingAdmissionWebhook   other           -             skipped   -        not about such requests",
      "",
      "DELETE pods web: would be taken",
      "No webhook and no policy was considered.",
      "",
    ].join("\n"),
  );
});
