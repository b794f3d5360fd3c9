import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../api/meta.js";
import { JsonPathError, parseJsonPath } from "./json-path.js";

const OBJECT: JsonValue = {
  metadata: { name: "a", annotations: { "example.com/x": "y" } },
  spec: {
    replicas: 3,
    ports: [
      { n: 80, t: "TCP" },
      { n: 53, t: "UDP" },
      { n: 443, t: "TCP" },
    ],
  },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Old", status: "False" },
    ],
  },
};

test("a path finds what kubectl finds with it", () => {
  const cases: readonly (readonly [string, ...JsonValue[]])[] = [
    [".metadata.name", "a"],
    ["$.metadata.name", "a"],
    [".spec.missing.deeper"],
    [".metadata.annotations.example\\.com/x", "y"],
    [".metadata.annotations['example.com/x']", "y"],
    ['["metadata"]["name"]', "a"],
    [".spec.ports[0].n", 80],
    [".spec.ports[-1].n", 443],
    [".spec.ports[9].n"],
    [".spec.ports[0:2].n", 80, 53],
    [".spec.ports[1:].n", 53, 443],
    [".spec.ports[:-1].n", 80, 53],
    [".spec.ports[0:3:2].n", 80, 443],
    [".spec.ports[*].n", 80, 53, 443],
    [".spec.ports[0,2].n", 80, 443],
    [".metadata['name','missing']", "a"],
    ['.status.conditions[?(@.type=="Ready")].status', "True"],
    [".status.conditions[?(@.type=='Old')].status", "False"],
    [".spec.ports[?(@.n>80)].n", 443],
    [".spec.ports[?(@.n <= 80)].t", "TCP", "UDP"],
    ['.spec.ports[?(@.t!="TCP")].n', 53],
    [".spec.ports[?(@.missing)].n"],
    [".spec.ports[?(@.n)].n", 80, 53, 443],
    ["..replicas", 3],
    [".spec..t", "TCP", "UDP", "TCP"],
    [".spec.replicas.x"],
  ];
  for (const [path, ...expected] of cases) {
    const found = parseJsonPath(path)(OBJECT);
    assert.deepEqual(found, expected, path);
  }
});

test("what is no path is refused", () => {
  for (const path of [".a[", ".a[x]", ".a[0:1:0]", ".a..[", "{.a}", ".a b", ".a[?(@.x==]"]) {
    assert.throws(() => parseJsonPath(path), JsonPathError, path);
  }
});

test("whatever the text, a path is found or refused, and finds or not: it never fails otherwise", () => {
  const part = fc.constantFrom(
    ".",
    "..",
    "[",
    "]",
    "*",
    "a",
    "'",
    '"',
    "?(",
    ")",
    "@",
    "0",
    ":",
    ",",
    "\\",
    "-1",
    "==",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), (parts) => {
      try {
        parseJsonPath(parts.join(""))(OBJECT);
      } catch (error) {
        assert.ok(error instanceof JsonPathError, String(error));
      }
    }),
    { numRuns: 2_000 },
  );
});
