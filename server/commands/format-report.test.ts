import assert from "node:assert/strict";
import { test } from "node:test";
import { formatReport } from "./format-report.js";
import type { Report } from "./report.js";

const REPORT: Report = {
  objects: [
    { place: "a.yaml, document 1", object: "Pod shop/a" },
    { place: "a.yaml, document 2", object: "Pod shop/b" },
  ],
  findings: [
    {
      place: "a.yaml, document 2",
      line: 7,
      object: "Pod shop/b",
      level: "error",
      message: '100% <wrong>, "b" & c',
    },
    {
      place: "a.yaml, document 1",
      line: 1,
      object: "Pod shop/a",
      level: "warning",
      message: "old",
    },
    { place: "b.yaml", line: 1, object: "", level: "error", message: "not an object" },
  ],
  skipped: 3,
};

test("People 8: findings as text, with what was looked at", () => {
  assert.equal(
    formatReport(REPORT, "text"),
    `a.yaml, document 2: Pod shop/b: 100% <wrong>, "b" & c
a.yaml, document 1: Pod shop/a: warning: old
b.yaml: not an object
2 objects, 2 errors, 1 warning, 3 skipped
`,
  );
});

test("People 8: findings as annotations of a workflow, whose characters are escaped", () => {
  const [first, second, third] = formatReport(REPORT, "github").split("\n");
  assert.equal(
    first,
    '::error file=a.yaml,line=7,title=Pod shop/b::a.yaml, document 2: 100%25 <wrong>, "b" & c',
  );
  assert.equal(second, "::warning file=a.yaml,line=1,title=Pod shop/a::a.yaml, document 1: old");
  assert.equal(third, "::error file=b.yaml,line=1,title=b.yaml::b.yaml: not an object");
});

test("People 8: findings as JUnit's XML: a case for each object and each file that is none", () => {
  assert.equal(
    formatReport(REPORT, "junit"),
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="keelson validate" tests="3" failures="2">
    <testcase classname="a.yaml, document 1" name="Pod shop/a"></testcase>
    <testcase classname="a.yaml, document 2" name="Pod shop/b"><failure message="100% &lt;wrong&gt;, &quot;b&quot; &amp; c"/></testcase>
    <testcase classname="b.yaml" name="b.yaml"><failure message="not an object"/></testcase>
  </testsuite>
</testsuites>
`,
  );
});

test("People 8: no name forges a line, a command of a workflow, or a colour", () => {
  const forged = "Pod a\n::error::\u001b[31mb";
  const place = "a\nb.yaml";
  const finding = {
    place,
    line: 1,
    object: forged,
    level: "error",
    message: "m\r\u2028n",
  } as const;
  const report: Report = {
    objects: [{ place, object: forged }],
    findings: [finding],
    skipped: 0,
  };
  assert.equal(
    formatReport(report, "text").split("\n")[0],
    "a\\u000ab.yaml: Pod a\\u000a::error::\\u001b[31mb: m\\u000d\\u2028n",
  );
  assert.equal(
    formatReport(report, "github").split("\n")[0],
    "::error file=a%0Ab.yaml,line=1,title=Pod a\\u000a%3A%3Aerror%3A%3A\\u001b[31mb::a\\u000ab.yaml: m\\u000d\\u2028n",
  );
  assert.match(
    formatReport(report, "junit"),
    /classname="a\\u000ab\.yaml" name="Pod a\\u000a::error::\\u001b\[31mb"/,
  );
});
