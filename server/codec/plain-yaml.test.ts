/** What the quick reader of YAML reads, and that it means what the library says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { parseJson } from "../schema/parse-json.js";
import { parsePlainYaml } from "./plain-yaml.js";
import { parseAnyYaml, YamlSyntaxError } from "./yaml.js";

const DEPLOYMENT = `---
# The shop's own
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, "tier": 'front'}
spec:
  replicas: 3 # for now
  template:
    spec:
      containers:
      - name: main
        image: "registry.example:5000/web:1.0"
        args: [--level=info, "-c", 'x: y']
        env:
          - name: A
            value: b
          # nothing
          - name: C
            valueFrom:
              configMapKeyRef: {name: cfg, key: c}
        resources:
          limits: {cpu: 500m, memory: 128Mi}
        securityContext: {}
        command: []
        livenessProbe:
          httpGet: {path: /ready, port: 8080}
      nodeSelector:
      hostNetwork: false
data:
  run.sh: |
    #!/bin/sh

    if true; then
      echo "a: b" # c
    fi

  # not of it
  last: |-
    --- x
    é
`;

test("a manifest as people write it is read without the library, and means the same", () => {
  const value = parsePlainYaml(DEPLOYMENT);
  assert.ok(value !== undefined);
  const { value: meant, repeatedKeys } = parseAnyYaml(DEPLOYMENT);
  assert.deepEqual(repeatedKeys, []);
  assert.deepEqual(value, meant);
  assert.equal(JSON.stringify(value), JSON.stringify(meant), "the order of members");
});

test("S1-NEG-02: what is not plain is left to the library", () => {
  const texts = [
    "a: 0644",
    "a: 0x10",
    "a: 1.5",
    "a: 1_000",
    "a: 9007199254740993",
    "a: yes",
    "a: Null",
    "yes: a",
    "a: 1\na: 2",
    "a: {b: 1, b: 2}",
    "a: &x b",
    "a: >\n  b\n",
    "a: |+\n  b\n",
    "a: |\n  b",
    "a: |\nb: c\n",
    "a: |\n\n  b\n",
    "a: |\n   b\n  c\n",
    "a: |\n  b\n     \n",
    "a: | # b\n  c\n",
    "a: b\n  c",
    "a:\n  b\n  c",
    "a: b: c",
    "a: b:",
    "a:\n- b: 1\n   c: 2",
    "a:\n    b: 1\n  c: 2",
    "a: 'it''s'",
    'a: "\\n"',
    "a: [b\n]",
    "a: [b,]",
    "a: {b}",
    "a: [b] c",
    "a: [b]c",
    "a: [b]#c",
    "a:\tb",
    "a: b\r\nc: d",
    "a: \u00a0b",
    "a: b\u2028c: d",
    "__proto__: {a: 1}",
    "a: {__proto__: 1}",
    "<<: {a: 1}",
    "? a\n: b",
    "---\n---\na: 1",
    "a: 1\n---\nb: 1",
    "a: 1\n...",
    "%YAML 1.1\n---\na: 1",
    "- a",
    "a",
    "",
    `a: ${"[".repeat(60)}${"]".repeat(60)}`,
    Array.from({ length: 60 }, (_, at) => `${" ".repeat(at)}a:`).join("\n"),
  ];
  for (const text of texts) assert.equal(parsePlainYaml(text), undefined, text);
});

/** @returns whether it was read */
function compare(text: string): boolean {
  const value = parsePlainYaml(text);
  if (value === undefined) return false;
  try {
    const { value: meant, repeatedKeys } = parseAnyYaml(text);
    assert.deepEqual(repeatedKeys, [], text);
    assert.deepEqual(value, meant, text);
    assert.equal(JSON.stringify(value), JSON.stringify(meant), text);
  } catch (error) {
    if (error instanceof YamlSyntaxError) assert.fail(`${JSON.stringify(text)}: ${error.message}`);
    throw error;
  }
  return true;
}

test("S1-NEG-02: no text is read otherwise than the library reads it", () => {
  const scalar = fc.oneof(
    fc.constantFrom("a", "1", "0", "-1", "010", "1e3", "e3", "E1", "1.2.3", "500m", "1k", "12:30"),
    fc.constantFrom("true", "True", "NO", "y", "~", "null", "-c", "--a=b", "/a/b", "$(A)", "(a)"),
    fc.constantFrom("a b", "a #b", "a#b", "a:b", "'a'", '"a"', "'a' # b", "[a, 1]", "{a: b}", "{}"),
    fc.constantFrom(
      "[]",
      "[a",
      "a]",
      "{a: {b: [c]}}",
      "[{a: 1}, b]",
      "a, b",
      "- a",
      "é",
      ".5",
      "@",
    ),
    fc.constantFrom(
      "2024-01-01",
      "0b1",
      "1s",
      "1Ei",
      "1.5",
      "a: b",
      "|",
      "|-",
      "",
      "# a",
      "-.inf",
      "*.a",
    ),
  );
  const key = fc.constantFrom(
    "a",
    "b",
    "c",
    "d",
    "e/f",
    "'g'",
    '"h"',
    "no",
    "_",
    "a b",
    "__proto__",
  );
  const line = fc.record({
    indent: fc.constantFrom("", "", "  ", "  ", "    ", " "),
    dash: fc.constantFrom("", "", "- ", "-   "),
    key: fc.option(fc.tuple(key, fc.constantFrom(": ", ": ", ":", ":   ")), { nil: undefined }),
    scalar,
  });
  const whole = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => {
    const texts = lines.map(({ indent, dash, key: own, scalar: value }) => {
      return `${indent}${dash}${own?.join("") ?? ""}${value}`;
    });
    return `${texts.join("\n")}\n`;
  });
  let read = 0;
  fc.assert(
    fc.property(whole, (text) => {
      if (compare(text)) read++;
    }),
    { numRuns: 20_000 },
  );
  assert.ok(read > 300, `${read} of them were read here`);
});

test("S1-NEG-02: most of what the library writes is read, and means the same", () => {
  const text = fc.constantFrom("a", "web-1", "apps/v1", "x y", "500m", "true", "1", "a: b", "it's");
  const { value: any } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "medium" }, text, fc.integer(), tie("map"), tie("list")),
    map: fc.dictionary(fc.constantFrom("a", "b", "c-d", "e.f/g", "true", "8080"), tie("value")),
    list: fc.array(tie("value"), { maxLength: 4 }),
  }));
  let read = 0;
  fc.assert(
    fc.property(any, (value) => {
      const plain = parseJson(JSON.stringify({ value }));
      if (compare(stringify(plain, { version: "1.1" }))) read++;
    }),
    { numRuns: 1_000 },
  );
  assert.ok(read > 300, `${read} of them were read here`);
});
